// Draws the report's charts from the JSON in #data. Everything else of the page is plain HTML.
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const LIGHT = ["#0b5fb0", "#c8470b", "#1f8a4c", "#8a3ab9", "#a37800", "#c2255c", "#0a8a99", "#5c5f66"];
  const DARK = ["#6cb2f5", "#ff9a62", "#6fcf8d", "#cf9bf0", "#e5c04b", "#ff8fb5", "#5fd0dd", "#b8bec8"];
  // Dashes let two equal curves both be seen, and tell curves apart in print.
  const DASHES = [[], [9, 5], [3, 4], [12, 4, 3, 4]];
  const METRICS = {
    slowdown: { title: "Slowdown (time / time without loss)", part: "slowdown" },
    completion: { title: "Completion time, " + data.unit, part: "completion" },
    regret: { title: "Regret (time / the oracle's time)", part: "regret" },
    wire: { title: "Bytes on the wire for each byte of payload", part: null },
  };
  let metric = "slowdown", point = data.start, views = [];

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (policy) => (dark.matches ? DARK : LIGHT)[policy % LIGHT.length];
  const dash = (policy) => DASHES[policy % DASHES.length];

  function base(width, height) {
    const ink = css("--ink"), soft = css("--soft"), line = css("--line"), font = css("--sans");
    return {
      width: width, height: height, padding: { left: 2, right: 14, top: 4, bottom: 4 },
      autosize: { type: "fit", contains: "padding" },
      config: {
        axis: {
          labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 12, labelColor: soft, titleColor: soft,
          titleFontWeight: "normal", domainColor: line, tickColor: line, gridColor: line, gridOpacity: 0.7,
        },
        text: { font: font, fill: ink, fontSize: 12 },
      },
      data: [], scales: [], axes: [], marks: [],
    };
  }

  function draw(id, spec) {
    const target = typeof id === "string" ? document.getElementById(id) : id;
    const view = new vega.View(vega.parse(spec), { renderer: "svg", container: target, hover: true });
    views.push(view);
    view.runAsync().catch((error) => console.error(error));
  }

  function widthOf(id) {
    const target = typeof id === "string" ? document.getElementById(id) : id;
    return Math.max(260, Math.floor(target.clientWidth) - 2);
  }

  // A vertical line through the plot with words at its head; `row` 1 is the lower one.
  function rule(x, words, dashed, row) {
    return [
      { type: "rule", encode: { update: {
        x: { scale: "x", value: x }, y: { value: 2 - row * 13 }, y2: { signal: "height" },
        stroke: { value: css("--soft") }, strokeWidth: { value: 1.5 }, strokeDash: { value: dashed ? [4, 3] : [] } } } },
      { type: "text", encode: { update: {
        x: { scale: "x", value: x, offset: 5 }, y: { value: 10 - row * 13 }, text: { value: words },
        fill: { value: css("--soft") }, fontSize: { value: 11 } } } },
    ];
  }

  const references = (p) => rule(p.ideal, "without loss", false, 2).concat(rule(p.oracle, "oracle", true, 1));

  function policyScale(names) {
    return { name: "y", type: "band", domain: names, range: "height", padding: 0.35 };
  }

  const rows = (p) => p.series.map((s) => Object.assign({ name: data.policies[s.policy], colour: colour(s.policy),
    wire: s.wire, oracle_wire: s.oracle_wire }, s.completion));

  function policyAxis() {
    return { orient: "left", scale: "y", domain: false, ticks: false, labelPadding: 8, labelFontSize: 13,
             labelColor: css("--ink"), labelLimit: 220, labelFont: css("--mono") };
  }

  function rangeTip() {
    const part = (name, field) => "'" + name + " ' + (datum." + field + " === null ? '-' : format(datum." + field + ", '.4~r'))";
    return "datum.name + ': ' + " + [part("median", "p50"), part("mean", "mean"), part("p99", "p99"), part(data.tail, "tail")]
      .join(" + ', ' + ") + " + ' " + data.unit + "'";
  }

  function drawRange(p) {
    const values = rows(p), height = 84 + values.length * 46;
    const spec = base(widthOf("range"), height);
    spec.data = [{ name: "rows", values: values }];
    const ends = values.flatMap((v) => [v.tail, v.tail_upper, v.mean]).concat([p.ideal, p.oracle]).filter((x) => x !== null);
    spec.scales = [policyScale(values.map((v) => v.name)),
      { name: "x", type: "linear", domain: [0, Math.max(...ends) * 1.02], range: "width", nice: false }];
    spec.axes = [
      { orient: "bottom", scale: "x", grid: true, title: data.unit, tickCount: 7, format: "~r" }, policyAxis()];
    const mid = { scale: "y", field: "name", band: 0.5 };
    const tip = { signal: rangeTip() };
    const symbol = (field, shape, size, extra) => ({ type: "symbol", from: { data: "rows" }, encode: { update: Object.assign({
      x: { scale: "x", field: field }, y: mid, shape: { value: shape }, size: { value: size }, tooltip: tip,
      fill: { field: "colour" }, stroke: { value: css("--paper") }, strokeWidth: { value: 1 },
      opacity: { signal: "datum." + field + " === null ? 0 : 1" } }, extra || {}) } });
    spec.marks = references(p).concat([
      { type: "rect", from: { data: "rows" }, encode: { update: {
        x: { scale: "x", field: "p50" }, x2: { scale: "x", field: "tail" }, y: { scale: "y", field: "name", band: 0.2 },
        height: { scale: "y", band: 0.6 }, fill: { field: "colour" }, fillOpacity: { value: 0.25 }, cornerRadius: { value: 2 },
        tooltip: tip } } },
      { type: "rule", from: { data: "rows" }, encode: { update: {
        x: { signal: "scale('x', datum.tail_lower === null ? datum.tail : datum.tail_lower)" },
        x2: { signal: "scale('x', datum.tail_upper === null ? datum.tail : datum.tail_upper)" },
        y: mid, stroke: { field: "colour" }, strokeWidth: { value: 2 } } } },
      symbol("p99", "stroke", 160, { angle: { value: 90 }, stroke: { field: "colour" }, strokeWidth: { value: 2 } }),
      symbol("tail", "diamond", 110),
      symbol("mean", "circle", 90, { fill: { value: css("--paper") }, stroke: { field: "colour" }, strokeWidth: { value: 2 } }),
      symbol("p50", "circle", 90),
    ]);
    draw("range", spec);
  }

  function drawWire(p) {
    const values = rows(p).filter((v) => v.wire !== null);
    const target = document.getElementById("wire");
    if (values.length === 0) {
      target.textContent = "The messages have no payload, so there is no ratio.";
      return;
    }
    const spec = base(widthOf("wire"), 84 + rows(p).length * 46);
    spec.data = [{ name: "rows", values: values }];
    const most = Math.max(...values.flatMap((v) => [v.wire, v.oracle_wire || 0]));
    spec.scales = [policyScale(values.map((v) => v.name)),
      { name: "x", type: "linear", domain: [0, most * 1.16], range: "width" }];
    spec.axes = [{ orient: "bottom", scale: "x", grid: true, title: "bytes / byte", tickCount: 5, format: "~r" }, policyAxis()];
    spec.marks = [
      { type: "rect", from: { data: "rows" }, encode: { update: {
        x: { scale: "x", value: 0 }, x2: { scale: "x", field: "wire" }, y: { scale: "y", field: "name", band: 0.2 },
        height: { scale: "y", band: 0.6 }, fill: { field: "colour" }, fillOpacity: { value: 0.8 }, cornerRadius: { value: 2 } } } },
      { type: "text", from: { data: "rows" }, encode: { update: {
        x: { scale: "x", field: "wire", offset: 6 }, y: { scale: "y", field: "name", band: 0.5 }, baseline: { value: "middle" },
        text: { signal: "format(datum.wire, '.3f')" }, fontSize: { value: 13 } } } },
      { type: "rule", from: { data: "rows" }, encode: { update: {
        x: { scale: "x", field: "oracle_wire" }, y: { scale: "y", field: "name", band: 0.05 },
        y2: { scale: "y", field: "name", band: 0.95 }, stroke: { value: css("--ink") }, strokeWidth: { value: 1.5 },
        strokeDash: { value: [4, 3] }, tooltip: { signal: "'oracle ' + format(datum.oracle_wire, '.3f')" },
        opacity: { signal: "datum.oracle_wire === null ? 0 : 1" } } } },
    ];
    draw("wire", spec);
  }

  function drawTail(p) {
    const values = [];
    for (const s of p.series) {
      s.times.forEach((time, i) => values.push({ policy: data.policies[s.policy], colour: colour(s.policy),
        dash: dash(s.policy), time: time, share: s.shares[i] }));
    }
    const spec = base(widthOf("tail"), 400);
    spec.data = [{ name: "curve", values: values }];
    const least = Math.min(...values.map((v) => v.share));
    const times = values.map((v) => v.time).concat([p.ideal, p.oracle]);
    const first = Math.min(...times), last = Math.max(...times), room = Math.max((last - first) * 0.04, last * 0.002);
    spec.scales = [
      { name: "x", type: "linear", domain: [Math.max(0, first - room), last + room], range: "width", nice: false, zero: false },
      { name: "y", type: "log", domain: [Math.min(least, 0.5) * 0.8, 1], range: "height", nice: false },
    ];
    const ticks = [1, 0.5, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6].filter((t) => t >= least * 0.8);
    spec.axes = [
      { orient: "bottom", scale: "x", title: "completion time, " + data.unit, tickCount: 8, format: "~r" },
      { orient: "left", scale: "y", values: ticks, grid: true, title: "share of messages",
        encode: { labels: { update: { text: { signal: "format(datum.value * 100, '~r') + ' %'" } } } } },
    ];
    spec.marks = references(p).concat([{
      type: "group", from: { facet: { name: "one", data: "curve", groupby: "policy" } },
      marks: [
        { type: "line", from: { data: "one" }, encode: { update: {
          x: { scale: "x", field: "time" }, y: { scale: "y", field: "share" }, stroke: { field: "colour" },
          strokeDash: { field: "dash" }, strokeWidth: { value: 2.2 }, interpolate: { value: "step-before" } } } },
        { type: "symbol", from: { data: "one" }, encode: { update: {
          x: { scale: "x", field: "time" }, y: { scale: "y", field: "share" }, size: { value: 60 }, fill: { field: "colour" },
          opacity: { value: 0 }, tooltip: { signal:
            "datum.policy + ': ' + format(datum.share * 100, '.3~r') + ' % take at least ' + format(datum.time, '.4~r') + ' " + data.unit + "'" } } } },
      ],
    }]);
    draw("tail", spec);
  }

  // The swept setting with the most values runs along the axis; the others make small multiples.
  function sweepLayout() {
    const keys = data.points[0].labels.map((l) => l[0]);
    const distinct = keys.map((_, i) => new Set(data.points.map((p) => p.labels[i][1])).size);
    const along = Math.max(0, distinct.indexOf(Math.max(...distinct)));
    const groups = new Map();
    for (const p of data.points) {
      const title = p.labels.filter((_, i) => i !== along).map((l) => l.join(" ")).join(", ");
      if (!groups.has(title)) groups.set(title, []);
      groups.get(title).push(p);
    }
    return { key: keys[along] || "point", along: along, groups: groups };
  }

  function sweepValues(points, along, name) {
    const values = [];
    for (const p of points) {
      for (const s of p.series) {
        const part = METRICS[name].part;
        const v = part ? s[part] : { tail: s.wire, tail_lower: null, tail_upper: null };
        if (v.tail === null) continue;
        values.push({ x: p.labels.length ? p.labels[along][1] : p.title, policy: data.policies[s.policy],
          colour: colour(s.policy), dash: dash(s.policy), value: v.tail, lower: v.tail_lower, upper: v.tail_upper });
      }
    }
    return values;
  }

  function yScale(values, ratio) {
    const all = values.flatMap((v) => [v.value, v.lower, v.upper]).filter((v) => v !== null);
    const least = Math.min(...all), most = Math.max(...all);
    if (most / least > 12) return { name: "y", type: "log", domain: [least * 0.9, most * 1.1], range: "height", nice: false };
    // Ratios start at 1, which is perfect; times at 0.
    const base = least > 0.999 && most < 100 && ratio ? 1 : 0;
    return { name: "y", type: "linear", domain: [base, base + (most - base) * 1.05], range: "height", nice: true, zero: false };
  }

  function sweepChart(figure, points, layout, name, scale) {
    const target = figure.querySelector(".chart");
    const spec = base(widthOf(target), 320);
    const values = sweepValues(points, layout.along, name);
    spec.data = [{ name: "values", values: values }];
    const xs = Array.from(new Set(points.map((p) => (p.labels.length ? p.labels[layout.along][1] : p.title))));
    spec.scales = [{ name: "x", type: "point", domain: xs, range: "width", padding: 0.3 }, scale];
    spec.axes = [
      { orient: "bottom", scale: "x", title: layout.key, labelOverlap: true, labelLimit: 110 },
      { orient: "left", scale: "y", grid: true, tickCount: 6, format: "~r" }];
    const at = { x: { scale: "x", field: "x" }, y: { scale: "y", field: "value" } };
    spec.marks = [{
      type: "group", from: { facet: { name: "one", data: "values", groupby: "policy" } },
      marks: [
        { type: "rule", from: { data: "one" }, encode: { update: { x: { scale: "x", field: "x" },
          y: { signal: "scale('y', datum.lower === null ? datum.value : datum.lower)" },
          y2: { signal: "scale('y', datum.upper === null ? datum.value : datum.upper)" },
          stroke: { field: "colour" }, strokeWidth: { value: 2 }, strokeOpacity: { value: 0.6 } } } },
        { type: "line", from: { data: "one" }, encode: { update: Object.assign({ stroke: { field: "colour" },
          strokeDash: { field: "dash" }, strokeWidth: { value: 2.2 } }, at) } },
        { type: "symbol", from: { data: "one" }, encode: { update: Object.assign({ size: { value: 55 },
          fill: { field: "colour" }, stroke: { value: css("--paper") }, strokeWidth: { value: 1 },
          tooltip: { signal: "datum.policy + ' at ' + datum.x + ': ' + format(datum.value, '.4~r')" } }, at) } },
      ],
    }];
    draw(target, spec);
  }

  function figureFor(parent, title) {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    const chart = document.createElement("div");
    caption.textContent = title;
    chart.className = "chart";
    figure.append(caption, chart);
    parent.append(figure);
    return figure;
  }

  function drawSweep() {
    const parent = document.getElementById("sweep-charts");
    if (!parent) return;
    parent.textContent = "";
    const layout = sweepLayout(), groups = Array.from(layout.groups);
    const at = metric === "wire" ? "" : " at " + data.tail;
    document.getElementById("sweep-caption").textContent = METRICS[metric].title + at + ", over " + layout.key;
    // With a single chart there is room to show the price beside the time.
    const beside = groups.length === 1 && metric !== "wire" ? ["wire"] : [];
    const jobs = [];
    for (const [title, points] of groups) {
      const all = groups.flatMap(([, list]) => sweepValues(list, layout.along, metric));
      jobs.push([figureFor(parent, title || METRICS[metric].title + at), points, metric, yScale(all, metric !== "completion")]);
      for (const name of beside) {
        jobs.push([figureFor(parent, METRICS[name].title), points, name, yScale(sweepValues(points, layout.along, name), true)]);
      }
    }
    for (const [figure, points, name, scale] of jobs) sweepChart(figure, points, layout, name, scale);
  }

  function legend() {
    for (const target of document.querySelectorAll("[data-legend]")) {
      target.textContent = "";
      data.policies.forEach((name, i) => {
        const item = document.createElement("span");
        const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
        for (const [key, value] of Object.entries({ width: 34, height: 12 })) svg.setAttribute(key, value);
        const look = { x1: 0, x2: 34, y1: 6, y2: 6, stroke: colour(i), "stroke-width": 3, "stroke-dasharray": dash(i).join(" ") };
        for (const [key, value] of Object.entries(look)) line.setAttribute(key, value);
        svg.append(line);
        item.append(svg, name);
        target.append(item);
      });
    }
  }

  function drawAll() {
    for (const view of views) view.finalize();
    views = [];
    legend();
    drawSweep();
    const p = data.points[point];
    if (p && p.series.length > 0) {
      drawRange(p);
      drawWire(p);
      drawTail(p);
    } else {
      for (const id of ["range", "wire", "tail"]) document.getElementById(id).textContent = "No message was delivered.";
    }
  }

  for (const e of document.querySelectorAll("[data-tail]")) e.textContent = data.tail;
  for (const e of document.querySelectorAll("[data-unit]")) e.textContent = "in " + data.unit;
  for (const button of document.querySelectorAll("[data-metric]")) {
    button.addEventListener("click", () => {
      metric = button.dataset.metric;
      for (const other of document.querySelectorAll("[data-metric]")) other.classList.toggle("on", other === button);
      drawAll();
    });
  }
  const chooser = document.getElementById("point");
  if (chooser) {
    chooser.value = String(point);
    chooser.addEventListener("change", () => { point = Number(chooser.value); drawAll(); });
  }
  let width = window.innerWidth, timer;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(drawAll, 150);
  });
  dark.addEventListener("change", drawAll);
  drawAll();
})();
