#include <fmt/format.h>

#include <array>

#include "core/base/check.h"
#include "tools/longhaul/scenario_keys.h"
#include "tools/longhaul/scenario_node.h"
#include "tools/longhaul/scenario_settings.h"

namespace longhaul {
namespace {

using yaml::Node;
using yaml::refuse;

constexpr std::array<std::string_view, 4> kModels{"none", "bernoulli", "gilbert_elliott",
                                                  "scripted"};
constexpr std::array<std::string_view, 1> kNoneKeys{"model"};
constexpr std::array<std::string_view, 2> kBernoulliKeys{"model", "rate"};
constexpr std::array<std::string_view, 7> kGilbertKeys{
    "model", "rate", "burst", "good_to_bad", "bad_to_good", "loss_in_good", "loss_in_bad"};
constexpr std::array<std::string_view, 3> kScriptedKeys{"model", "drop", "drop_control"};
constexpr std::string_view kExamples =
    "Write none, {model: bernoulli, rate: 1e-4} or {model: gilbert_elliott, rate: 1e-3, burst: "
    "10}.";

/// More than any test needs, and far below what fills the memory.
constexpr uint64_t kMaxScripted = 100'000;

std::span<const std::string_view> keys_of(LossModel model) {
  switch (model) {
    case LossModel::none:
      return kNoneKeys;
    case LossModel::bernoulli:
      return kBernoulliKeys;
    case LossModel::gilbert_elliott:
      return kGilbertKeys;
    case LossModel::scripted:
      break;
  }
  return kScriptedKeys;
}

/// One number of a model with its alternatives; `values` has one element when it is not swept.
struct Parameter {
  std::string key;
  std::vector<const Node*> values;
};

/// The chosen node of each parameter.
class Chosen {
 public:
  void set(const std::string& key, const Node* value) { values_.emplace_back(key, value); }
  const Node* find(std::string_view key) const {
    for (const auto& [name, value] : values_) {
      if (name == key) return value;
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<std::string, const Node*>> values_;
};

const Node& require(const Chosen& chosen, const Node& map, const std::string& key,
                    std::string_view parameter, std::string_view example) {
  const Node* node = chosen.find(parameter);
  if (node == nullptr) {
    refuse(map, fmt::format("{} has no {}", key, parameter), fmt::format("Write {}.", example));
  }
  return *node;
}

double read_loss_rate(const Node& node, const std::string& key) {
  const double rate = yaml::read_probability(node, key + ".rate");
  if (rate >= 1) {
    refuse(node, fmt::format("{}.rate: at {} nothing ever arrives", key, node.text),
           "Write a probability below 1, for example 1e-4 or 0.01 %.");
  }
  return rate;
}

LossSpec read_bursts(const Chosen& chosen, const Node& map, const std::string& key) {
  constexpr std::string_view kExample = "{model: gilbert_elliott, rate: 1e-3, burst: 10}";
  const double rate = read_loss_rate(require(chosen, map, key, "rate", kExample), key);
  const Node& burst_node = require(chosen, map, key, "burst", kExample);
  const double burst = yaml::read_number(burst_node, key + ".burst");
  if (burst < 1) {
    refuse(burst_node, fmt::format("{}.burst: {} is below 1", key, burst_node.text),
           "Write the mean length of a burst in packets, 1 or more.");
  }
  LossSpec spec = LossSpec::bursts(rate, burst);
  if (spec.good_to_bad > 1) {
    refuse(map,
           fmt::format("{}: a mean loss of {} cannot be reached with bursts of {}", key,
                       chosen.find("rate")->text, burst_node.text),
           fmt::format("With this rate bursts last {:.4g} packets or more on average.",
                       rate / (1 - rate)));
  }
  return spec;
}

LossSpec read_transitions(const Chosen& chosen, const Node& map, const std::string& key) {
  constexpr std::string_view kExample =
      "{model: gilbert_elliott, good_to_bad: 1e-5, bad_to_good: 0.1, loss_in_good: 0, loss_in_bad: "
      "1}";
  LossSpec spec;
  spec.model = LossModel::gilbert_elliott;
  spec.good_to_bad = yaml::read_probability(require(chosen, map, key, "good_to_bad", kExample),
                                            key + ".good_to_bad");
  spec.bad_to_good = yaml::read_probability(require(chosen, map, key, "bad_to_good", kExample),
                                            key + ".bad_to_good");
  if (const Node* node = chosen.find("loss_in_good")) {
    spec.loss_in_good = yaml::read_probability(*node, key + ".loss_in_good");
  }
  if (const Node* node = chosen.find("loss_in_bad")) {
    spec.loss_in_bad = yaml::read_probability(*node, key + ".loss_in_bad");
  }
  if (spec.bad_to_good <= 0) {
    refuse(*chosen.find("bad_to_good"),
           fmt::format("{}.bad_to_good: the bad state never ends", key),
           "Write a probability above 0; its inverse is the mean length of a burst.");
  }
  if (spec.mean_loss() >= 1) {
    refuse(map, fmt::format("{}: with these probabilities nothing ever arrives", key),
           "Lower loss_in_good or loss_in_bad.");
  }
  return spec;
}

LossSpec read_gilbert_elliott(const Chosen& chosen, const Node& map, const std::string& key) {
  const bool short_form = chosen.find("rate") != nullptr || chosen.find("burst") != nullptr;
  const Node* long_form = nullptr;
  for (const std::string_view name :
       {"good_to_bad", "bad_to_good", "loss_in_good", "loss_in_bad"}) {
    if (long_form == nullptr) long_form = chosen.find(name);
  }
  if (short_form && long_form != nullptr) {
    refuse(*long_form, fmt::format("{} mixes rate and burst with transition probabilities", key),
           "Give rate and burst, or good_to_bad, bad_to_good, loss_in_good and loss_in_bad.");
  }
  return long_form != nullptr ? read_transitions(chosen, map, key) : read_bursts(chosen, map, key);
}

LossSpec read_spec(LossModel model, const Chosen& chosen, const Node& map, const std::string& key) {
  switch (model) {
    case LossModel::none:
      return LossSpec::none();
    case LossModel::bernoulli:
      return LossSpec::bernoulli(
          read_loss_rate(require(chosen, map, key, "rate", "{model: bernoulli, rate: 1e-4}"), key));
    case LossModel::gilbert_elliott:
      return read_gilbert_elliott(chosen, map, key);
    case LossModel::scripted:
      break;
  }
  const auto numbers = [&](std::string_view name) {
    const Node* node = chosen.find(name);
    return node == nullptr ? std::vector<uint64_t>()
                           : yaml::read_counts(*node, yaml::joined_key(key, name), kMaxScripted);
  };
  if (chosen.find("drop") == nullptr && chosen.find("drop_control") == nullptr) {
    refuse(map, fmt::format("{} drops nothing", key),
           "Write {model: scripted, drop: [0, 17]}: packet numbers, counted from 0.");
  }
  return LossSpec::scripted(numbers("drop"), numbers("drop_control"));
}

std::string identity_of(const LossSpec& spec) {
  return fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(spec.model), spec.rate,
                     spec.good_to_bad, spec.bad_to_good, spec.loss_in_good, spec.loss_in_bad,
                     fmt::join(spec.drop_data, ","), fmt::join(spec.drop_control, ","));
}

/// "gilbert_elliott, rate 1e-3, burst 10"
std::string label_of(LossModel model, const std::vector<Parameter>& parameters,
                     const Chosen& chosen) {
  std::string label(kModels[static_cast<size_t>(model)]);
  for (const Parameter& parameter : parameters) {
    label += fmt::format(", {} {}", parameter.key, chosen.find(parameter.key)->spelled());
  }
  return label;
}

std::vector<Parameter> read_parameters(const Node& map, LossModel model) {
  std::vector<Parameter> parameters;
  for (const yaml::Entry& entry : map.entries) {
    if (entry.key.text == "model") continue;
    Parameter parameter{entry.key.text, {}};
    if (entry.value.is_sequence() && model != LossModel::scripted) {
      if (entry.value.items.empty()) {
        refuse(entry.value, fmt::format("{} is an empty list", entry.key.text), "List a value.");
      }
      for (const Node& item : entry.value.items) parameter.values.push_back(&item);
    } else {
      parameter.values.push_back(&entry.value);
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

/// All combinations of the lists in one model, first key slowest. With `whole` the label is the
/// model with all its numbers, else one label for each swept number.
void expand_model(const Node& map, const std::string& key, bool whole,
                  std::vector<LossChoice>& choices) {
  const Node* model_node = map.find("model");
  if (model_node == nullptr)
    refuse(map, fmt::format("{} has no model", key), std::string(kExamples));
  const auto model = static_cast<LossModel>(yaml::read_word(*model_node, key + ".model", kModels));
  check_keys(map, "path.loss", fmt::format("{} with model {}", key, model_node->text),
             keys_of(model));
  const std::vector<Parameter> parameters = read_parameters(map, model);
  uint64_t combinations = 1;
  for (const Parameter& parameter : parameters) {
    combinations *= parameter.values.size();
    if (combinations > kMaxPoints) {
      refuse(map, fmt::format("{} has more than {} combinations", key, format_count(kMaxPoints)),
             "List fewer values.");
    }
  }
  for (uint64_t combination = 0; combination < combinations; ++combination) {
    Chosen chosen;
    LossChoice choice;
    uint64_t stride = combinations;
    for (const Parameter& parameter : parameters) {
      stride /= parameter.values.size();
      const Node* value = parameter.values[combination / stride % parameter.values.size()];
      chosen.set(parameter.key, value);
      if (!whole && parameter.values.size() > 1) {
        choice.labels.emplace_back(yaml::joined_key(key, parameter.key), value->spelled());
      }
    }
    choice.spec = read_spec(model, chosen, map, key);
    // What the reader lets pass and the sampler does not would be found too late.
    const std::string problem = choice.spec.validate();
    if (!problem.empty()) refuse(map, fmt::format("{}: {}", key, problem));
    if (whole) choice.labels.emplace_back(key, label_of(model, parameters, chosen));
    choice.identity = identity_of(choice.spec);
    choices.push_back(std::move(choice));
  }
}

void read_model(const Node& node, const std::string& key, bool whole,
                std::vector<LossChoice>& choices) {
  if (node.is_map()) return expand_model(node, key, whole, choices);
  if (!node.is_scalar() || node.text != "none") {
    refuse(node, fmt::format("{}: {} is not a loss model", key, node.described()),
           std::string(kExamples));
  }
  LossChoice choice;
  if (whole) choice.labels.emplace_back(key, "none");
  choice.identity = identity_of(choice.spec);
  choices.push_back(std::move(choice));
}

}  // namespace

std::vector<LossChoice> read_loss(const Node& node, const std::string& key) {
  std::vector<LossChoice> choices;
  if (!node.is_sequence()) {
    read_model(node, key, false, choices);
    return choices;
  }
  for (const Node& item : node.items) read_model(item, key, node.items.size() > 1, choices);
  return choices;
}

}  // namespace longhaul
