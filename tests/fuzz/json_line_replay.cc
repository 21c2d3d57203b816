// Runs the fuzz target without libFuzzer: over the files named, or over fixed inputs and random
// changes of them (always the same ones).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kRounds = 20000;

const std::string kInputs[] = {
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}
[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":[1,"\u00e9"]}}},
 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}]
[{"jsonrpc":"2.0","id":"x","method":"ping"},{"jsonrpc":"2.0","id":3,"method":"tools/list"}]
)",
    R"({"jsonrpc":"2.0","id":"d","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":0,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
{"jsonrpc":"2.0","id":6,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"n","value":"v"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
)",
    "{\"a\":1,\"a\":2}\n[[[[[[\n\xff\xfe\n\"\\ud800\"\n1e999\n{\"id\":1.5}\n",
};

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string Changed(std::string input, std::mt19937& random) {
  constexpr std::string_view kBytes = "{}[]\",:0e.\\u\n\xff\x00 id";
  for (unsigned changes = 1 + random() % 4; changes > 0 && !input.empty(); --changes) {
    const std::size_t at = random() % input.size();
    switch (random() % 4) {
      case 0:
        input[at] = kBytes[random() % kBytes.size()];
        break;
      case 1:
        input.erase(at, 1 + random() % 8);
        break;
      case 2:
        input.insert(at, input.substr(random() % input.size(), random() % 64));
        break;
      default:
        input.insert(at, random() % 100, kBytes[random() % kBytes.size()]);
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 1;
    }
    Run({std::istreambuf_iterator<char>(file), {}});
  }
  if (argc > 1) return 0;
  std::mt19937 random(1);
  for (const std::string& input : kInputs) Run(input);
  for (int round = 0; round < kRounds; ++round) {
    Run(Changed(kInputs[random() % std::size(kInputs)], random));
  }
  return 0;
}
