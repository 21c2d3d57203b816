"""Runs an example's pair through opguard-mcp and prints the located operation.

    run_example.py SERVER EXAMPLE

Uses only the command line of the server, as a person would. Exit status 0 if an operation was
located with a file and a line.
"""
import json
import subprocess
import sys


def options(request):
    """run_pair's arguments as options of the run-pair subcommand, and the command after `--`."""
    words, command = [], []
    for key, value in request.items():
        option = "--" + key.replace("_", "-")
        if key == "command":
            command = ["--", *(value if isinstance(value, list) else value.split())]
        elif isinstance(value, list):
            words += ["%s=%s" % (option, item) for item in value]
        elif isinstance(value, dict):
            words += ["%s=%s=%s" % (option, name, item) for name, item in value.items()]
        elif isinstance(value, bool):
            words += [option] if value else []
        else:
            words += ["%s=%s" % (option, value)]
    return words, command


def call(server, *words):
    """The JSON answer of a subcommand; its progress goes to this terminal."""
    done = subprocess.run([server, *words], stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if not done.stdout:
        sys.exit(done.returncode or 1)
    return json.loads(done.stdout)


def show(server, *words):
    print("\n$ opguard-mcp " + " ".join(words), flush=True)
    return subprocess.run([server, *words], check=False).returncode


def main():
    server, example = sys.argv[1:]
    with open(example + "/expected.json", encoding="utf-8") as file:
        request = json.load(file)["request"]
    request["workdir"] = example
    words, command = options(request)
    print("$ opguard-mcp run-pair " + " ".join(words + command), flush=True)
    pair = call(server, "run-pair", "--json", *words, *command)
    print(pair["summary"], flush=True)
    if pair["status"] != "complete":
        return 1
    if show(server, "first-diff", pair["pair_id"]) != 1:
        return 1
    answer = call(server, "first-diff", "--json", pair["pair_id"])
    for step in answer["next"]:
        if step["tool"] in ("call_stack", "source_at"):
            arguments = step["arguments"]
            positional = [arguments[key] for key in ("pair_id", "op_id", "frame_id")
                          if key in arguments]
            flags = ["--diff"] if arguments.get("diff") else []
            show(server, step["tool"].replace("_", "-"), *positional, *flags)
    op = answer["op"]
    place = op.get("at_b") or op.get("at_a")
    if not place:
        return 1
    print("\nLocated: %s (%s) at %s:%d" %
          (op["name"], answer["verdict"], place["path"], place["line"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
