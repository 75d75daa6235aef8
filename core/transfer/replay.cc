#include "core/transfer/replay.h"

#include "core/transfer/queue_pair.h"
#include "core/transfer/replay_limits.h"

namespace longhaul {

using recording::Post;

namespace {

constexpr const char* kNotThisCore =
    "The file is damaged, or was not written by a recorder: record again.";

/// Answers from the recording, in place of whatever reads payload and registers memory.
class ReplayedAnswers final : public Coder, public Backend {
 public:
  explicit ReplayedAnswers(RecordingReader& reader) : reader_(reader) {}

  /// What was asked for without the recording having it; empty when nothing was.
  const char* unanswered() const { return unanswered_; }

  uint64_t checksum(const MemorySlice&, uint64_t) override {
    const auto* recorded = reader_.current<RecordedChecksum>();
    return recorded == nullptr ? missing("a checksum") : taken(recorded->value);
  }
  void encode(const TransferCode&, const MemorySlice&, uint64_t, std::span<std::byte>) override {}
  uint64_t decode(const TransferCode&, const MemorySlice&, uint64_t, const PacketBitmap&,
                  std::span<const std::byte>, const PacketBitmap&) override {
    const auto* recorded = reader_.current<RecordedDecode>();
    return recorded == nullptr ? missing("decoding") : taken(recorded->packets);
  }

  const Capabilities& capabilities() const override { return reader_.header().capabilities; }
  MemoryHandle register_memory(const MemoryRegion&) override {
    const auto* recorded = reader_.current<RecordedHandle>();
    return static_cast<MemoryHandle>(recorded == nullptr
                                         ? missing("memory to be registered")
                                         : taken(static_cast<uint32_t>(recorded->handle)));
  }
  void deregister_memory(MemoryHandle) override {}
  size_t submit(Instant, std::span<const Command> commands, std::span<const std::byte>) override {
    return commands.size();
  }
  void poll(Instant, EventBatch&) override {}
  Instant next_event(const Wakeup& wakeup) override { return wakeup.deadline; }

 private:
  uint64_t taken(uint64_t value) {
    reader_.next();
    return value;
  }
  uint64_t missing(const char* what) {
    // Of a recording that cannot be read further, that is what counts.
    if (*unanswered_ == '\0' && !reader_.error()) unanswered_ = what;
    return 0;
  }

  RecordingReader& reader_;
  const char* unanswered_ = "";
};

/// The report's header is valid, and outlives it.
class Replayer {
 public:
  Replayer(RecordingReader& reader, const ReplayOptions& options, ReplayReport& report)
      : reader_(reader),
        options_(options),
        report_(report),
        answers_(reader),
        queue_pair_(report.header.attributes, answers_, answers_),
        guard_(report.header, options.limits) {}

  void run() {
    while (!over()) {
      if (const auto* post = reader_.current<RecordedPost>()) {
        replay_post(*post);
      } else if (const auto* turn = reader_.current<RecordedTurn>()) {
        replay_turn(turn->now);
      } else if (reader_.current<RecordedHandle>() != nullptr) {
        reader_.next();  // the user's own memory, which posts name
      } else {
        refuse("the record belongs to no post or turn");
      }
    }
    if (!report_.error) report_.error = reader_.error();
    report_.counters = queue_pair_.counters();
  }

 private:
  bool over() const {
    return report_.error || reader_.error() || reader_.current<RecordedEnd>() != nullptr ||
           (report_.difference && !options_.keep_going);
  }

  void refuse(std::string what) {
    if (!report_.error && !reader_.error())
      report_.error = RecordingError{reader_.position(), std::move(what), kNotThisCore};
  }

  void differ(uint64_t recorded, uint64_t replayed, std::string what) {
    if (report_.difference) return;
    report_.difference =
        ReplayDifference{report_.turns, report_.last, recorded, replayed, std::move(what)};
  }

  bool advance_to(Instant now) {
    if (report_.posts + report_.turns == 0) report_.first = report_.last = now;
    const Duration step = now - report_.last;
    if (step < Duration{}) {
      refuse("time goes back");
    } else if (step > options_.limits.longest && guard_.anything_lives()) {
      refuse("nothing happens for too long");
    } else {
      report_.last = now;
    }
    return !report_.error;
  }

  void compare_answers(uint64_t recorded, uint64_t replayed) {
    if (*answers_.unanswered() != '\0') {
      differ(recorded, replayed,
             std::string("the queue pair asks for ") + answers_.unanswered() +
                 ", which it did not in the recording");
    }
    for (; reader_.current<RecordedChecksum>() != nullptr ||
           reader_.current<RecordedDecode>() != nullptr;
         reader_.next()) {
      differ(recorded, replayed, "the queue pair does not read payload that it did read");
    }
  }

  void replay_post(RecordedPost post) {
    if (!advance_to(post.now)) return;
    const std::string refused = guard_.refuse(post, queue_pair_);
    if (!refused.empty()) return refuse("a post makes no sense: " + refused);
    ++report_.posts;
    reader_.next();
    give(post);
    compare_answers(0, 0);
  }

  void give(const RecordedPost& post) {
    // One byte stands for a packet: nothing reads it, and a code's parity takes little memory.
    const MemoryRegion region{nullptr, post.offset + post.bytes,
                              report_.header.capabilities.mtu_bytes, 1};
    const MemorySlice slice{post.handle, region, post.offset, post.bytes};
    switch (post.post) {
      case Post::transfer_send:
        queue_pair_.transfer_send(post.now, slice, post.user_immediate);
        break;
      case Post::transfer_recv:
        queue_pair_.transfer_recv(post.now, slice);
        break;
      case Post::send_start:
        queue_pair_.send_start(post.now, slice, post.user_immediate);
        break;
      case Post::send_continue:
        queue_pair_.send_continue(post.now, post.id, post.first, post.count);
        break;
      case Post::send_end:
        queue_pair_.send_end(post.now, post.id);
        break;
      case Post::recv_post:
        receive(post, slice);
        break;
      case Post::recv_complete:
        queue_pair_.recv_complete(post.now, post.id);
        break;
      case Post::forget_send:
        queue_pair_.forget_send(post.id);
        break;
      case Post::forget_recv:
        queue_pair_.forget_recv(post.id);
        break;
      case Post::forget_send_message:
        queue_pair_.forget_send_message(post.id);
    }
  }

  void receive(const RecordedPost& post, const MemorySlice& slice) {
    const auto* recorded = reader_.current<RecordedSlot>();
    if (recorded == nullptr) return refuse("a receive does not say whether it found a slot");
    const bool found = recorded->found;
    reader_.next();
    const auto id = queue_pair_.recv_post(post.now, slice);
    if (id) guard_.message_received(*id, post.bytes);
    if (id.has_value() != found) {
      differ(0, 0,
             found ? "a receive finds no slot, and did find one"
                   : "a receive finds a slot, and did not find one");
    }
  }

  void replay_turn(Instant now) {
    if (!advance_to(now)) return;
    reader_.take_events(events_);
    report_.events += events_.events.size();
    reader_.next();
    commands_.clear();
    queue_pair_.turn(now, events_, commands_);
    report_.commands += commands_.commands.size();
    const uint64_t number = report_.turns;
    const bool same = compare_turn();
    // Also of the last turn of a recording that was cut short: it may be where the program ended.
    if (options_.on_turn) options_.on_turn({number, now, events_, commands_, same});
  }

  /// Takes the outcome, counts the turn, and says whether it was as recorded.
  bool compare_turn() {
    const bool differed = report_.difference.has_value();
    const uint64_t replayed = commands_.commands.size();
    // A turn may have answers; its outcome then comes behind those that nobody asked for.
    compare_answers(0, replayed);
    const auto* recorded = reader_.current<RecordedOutcome>();
    if (recorded == nullptr) {
      refuse("a turn without an outcome");
      return false;
    }
    const RecordedOutcome outcome = *recorded;
    if (!count_taken(outcome)) return false;
    if (!differed && report_.difference) {
      report_.difference->recorded_commands = outcome.commands;
    }
    bool same = outcome.commands == replayed;
    if (!same) {
      differ(outcome.commands, replayed, "the number of commands differs");
    } else if (replayed != 0 &&
               outcome.digest !=
                   recording::command_digest(commands_.commands, commands_.control_bytes, 0)) {
      same = false;
      differ(outcome.commands, replayed, "as many commands, and they differ");
    }
    reader_.next();
    ++report_.turns;
    return same && differed == report_.difference.has_value();
  }

  bool count_taken(const RecordedOutcome& outcome) {
    waiting_ += outcome.commands;
    const uint64_t taken = outcome.taken.value_or(waiting_);
    if (taken > waiting_ || waiting_ < outcome.commands) {
      refuse("the backend took more commands than there were");
      return false;
    }
    waiting_ -= taken;
    report_.commands_taken += taken;
    return true;
  }

  RecordingReader& reader_;
  const ReplayOptions& options_;
  ReplayReport& report_;
  ReplayedAnswers answers_;
  QueuePair queue_pair_;
  PostGuard guard_;
  EventBatch events_;
  CommandBatch commands_;
  uint64_t waiting_ = 0;  ///< commands that the recorded backend had not taken
};

}  // namespace

ReplayReport replay(std::span<const std::byte> recording, const ReplayOptions& options) {
  RecordingReader reader(recording);
  ReplayReport report;
  report.header = reader.header();
  // The first record may be what is wrong: the header counts nevertheless, but nothing was
  // replayed.
  report.error = reader.error();
  if (report.error) return report;
  if (auto refused = refuse_header(report.header, options.limits); !refused.empty()) {
    report.error = RecordingError{0, std::move(refused), kNotThisCore};
    return report;
  }
  Replayer(reader, options, report).run();
  return report;
}

}  // namespace longhaul
