"""Imports, lists, calls, kills and changes MCP servers that we did not write, through the binary and a running gateway."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

BINARY, INSTALLED, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
FILES = FOLDER / "files"
REPOSITORY = FOLDER / "repository"
NPM = INSTALLED / "node_modules" / "@modelcontextprotocol"
VENV = INSTALLED / "venv" / "bin"

SERVERS = {
    "everything": ["node", f"{NPM}/server-everything/dist/index.js"],
    "filesystem": ["node", f"{NPM}/server-filesystem/dist/index.js", str(FILES)],
    "memory": ["node", f"{NPM}/server-memory/dist/index.js"],
    "time": [f"{VENV}/mcp-server-time", "--local-timezone", "UTC"],
    "git": [f"{VENV}/mcp-server-git", "--repository", str(REPOSITORY)],
}


def write_config():
    servers = [{"id": name, "command": command, "timeout": "60s"} for name, command in SERVERS.items()]
    servers[2]["env"] = {"MEMORY_FILE_PATH": str(FOLDER / "memory.json")}
    config = {"listen": "127.0.0.1:0", "store": f"sqlite:{FOLDER}/toolgate.db", "tools": ["tools/"], "mcp_servers": servers}
    (FOLDER / "tools").mkdir(exist_ok=True)
    # JSON is YAML.
    (FOLDER / "toolgate.yaml").write_text(json.dumps(config))


def toolgate(*words, may_fail=False):
    command = [BINARY, "--config", str(FOLDER / "toolgate.yaml"), "--json", *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert may_fail or ended.returncode == 0, f"{words}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return json.loads(ended.stdout)


def imported(server, *words):
    return toolgate("tool", "import-mcp", "--server", server, *words)


class Gateway:
    def __enter__(self):
        command = [BINARY, "--config", str(FOLDER / "toolgate.yaml"), "--json", "up"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
        self.url = json.loads(self.process.stdout.readline())["gateway"]
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def call(self, tool, **args):
        return self.ask(f"/v1/tools/{tool}/invoke?platform=console", args)

    def result(self, tool, **args):
        answer = self.call(tool, **args)
        assert "result" in answer, answer
        return answer["result"]

    def servers(self):
        """The processes of the servers, by what they were started with."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                line = (entry / "cmdline").read_text().replace("\0", " ")
            except (OSError, ValueError, IndexError):
                continue
            if parent == self.process.pid:
                for name, command in SERVERS.items():
                    if command[1 if command[0] == "node" else 0] in line:
                        found[name] = int(entry.name)
        return found


def until(what, true, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {what}")


failed = 0


def shows(name, check):
    global failed
    try:
        check()
        print(f"ok {name}", flush=True)
    except Exception:
        failed += 1
        traceback.print_exc()
        print(f"FAILED {name}", flush=True)


def first_import(server):
    said = imported(server)
    assert said["written"] and said["tools"] and all(not tool["offered"] for tool in said["tools"]), said
    again = imported(server)
    assert not again["written"] and all(tool["import"] == "same" for tool in again["tools"]), again
    text = (FOLDER / "tools" / f"mcp-{server}.yaml").read_text()
    checked = toolgate("tool", "validate", "--spec", str(FOLDER / "tools" / f"mcp-{server}.yaml"))
    assert checked["ok"] and len(checked["tools"]) == len(said["tools"]) == text.count("publish: manual"), checked
    hidden = [tool["name"] for tool in toolgate("tool", "list")["tools"]]
    assert not set(hidden) & {tool["name"] for tool in said["tools"]}, hidden
    read = imported(server, "--reviewed")
    assert read["waiting"] == 0 and all(tool["offered"] for tool in read["tools"]), read
    offered = {tool["name"] for tool in toolgate("tool", "list")["tools"]}
    assert offered >= {tool["name"] for tool in read["tools"]}, offered


def edits_survive():
    file = FOLDER / "tools" / "mcp-time.yaml"
    text = file.read_text()
    mine = text.replace("name: get_current_time", "name: what_time   # shorter")
    mine = mine.replace("toolset: time", "toolset: clocks", 1).replace("concurrency_limit: 8", "concurrency_limit: 2", 1)
    assert mine != text
    file.write_text(mine)
    said = imported("time")
    assert file.read_text() == mine and not said["written"], said
    edited = [tool["edited"] for tool in said["tools"] if tool["edited"]]
    assert edited == [["execution", "name", "toolset"]], said


def runs(gateway):
    (FILES / "a.txt").write_text("first\nsecond\n")
    everything = gateway.result("echo", message="hello")
    assert "hello" in json.dumps(everything), everything
    text = gateway.result("read_text_file", path=str(FILES / "a.txt"))
    assert "second" in json.dumps(text), text
    entities = [{"name": "Toolgate", "entityType": "program", "observations": ["is a gateway"]}]
    gateway.result("create_entities", entities=entities)
    graph = gateway.result("read_graph")
    assert graph["entities"][0]["name"] == "Toolgate", graph
    clock = gateway.result("what_time", timezone="Asia/Shanghai")
    assert "Asia/Shanghai" in json.dumps(clock), clock
    status = gateway.result("git_status", repo_path=str(REPOSITORY))
    assert "branch" in json.dumps(status).lower(), status


def failures_are_told(gateway):
    outside = gateway.call("read_text_file", path="/etc/passwd")
    assert outside["code"] == "upstream.5xx" and "denied" in outside["detail"].lower(), outside
    missing = gateway.call("read_text_file")
    assert missing["code"] == "args.invalid", missing
    zone = gateway.call("what_time", timezone="Nowhere/Atall")
    assert zone["code"] in ("upstream.5xx", "input.refused"), zone


def image(gateway):
    got = gateway.result("get-tiny-image")
    assert got["files"][0]["mimeType"] == "image/png" and got["files"][0]["bytes"] > 100, got


def long_call(gateway):
    got = gateway.result("trigger-long-running-operation", duration=2, steps=4)
    assert "completed" in json.dumps(got).lower(), got


def killed(gateway):
    for name, tool, args in [("filesystem", "list_allowed_directories", {}), ("time", "what_time", {"timezone": "UTC"})]:
        before = until(f"{name} runs", lambda: gateway.servers().get(name))
        os.kill(before, signal.SIGKILL)
        answer = until(f"{tool} answers again", lambda: gateway.call(tool, **args).get("result"))
        after = gateway.servers()[name]
        assert answer and after != before, (before, after)


def changed(gateway):
    # As another version of the server would: one tool fewer, another description.
    file = FOLDER / "tools" / "mcp-memory.yaml"
    text = file.read_text()
    file.write_text(text.replace("tool: delete_relations }", "tool: gone_by_now }"))
    said = imported("memory", "--reviewed")
    kinds = {tool["tool"]: tool["import"] for tool in said["tools"]}
    assert kinds["delete_relations"] == "new" and kinds["gone_by_now"].startswith("gone"), kinds
    until("the gateway reads it", lambda: "result" in gateway.call("read_graph"))
    file.write_text(text)
    said = imported("memory")
    assert not said["written"] and all(tool["import"] == "same" for tool in said["tools"]), said


def ends_with_the_gateway(before):
    until("all servers are gone", lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in before.values()))


FILES.mkdir()
subprocess.run(["git", "init", "--quiet", str(REPOSITORY)], check=True)
write_config()
for name in SERVERS:
    shows(f"{name}: imported, read, offered", lambda: first_import(name))
shows("what a person changed survives the next import", edits_survive)
with Gateway() as gateway:
    shows("tools of all servers run", lambda: runs(gateway))
    shows("failures are told as what they are", lambda: failures_are_told(gateway))
    shows("an image is described", lambda: image(gateway))
    shows("a long call ends well", lambda: long_call(gateway))
    shows("a killed server is started again", lambda: killed(gateway))
    shows("a change at the server reaches the file, and back", lambda: changed(gateway))
    processes = gateway.servers()
shows("the servers end with the gateway", lambda: ends_with_the_gateway(processes))
sys.exit(1 if failed else 0)
