"""A client of Slack that we did not write, against the local Slack: python slack_sdk_client.py http://127.0.0.1:PORT

It hears a message, answers with a button, gets it pressed, opens a modal and gets its submission, and uploads a file.
Prints one `ok NAME` line for each; exits non-zero when one fails or a minute is over.
"""

import json
import queue
import sys
import threading
import time
import urllib.request

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

DEADLINE = time.monotonic() + 55


def control(base, verb, body):
    request = urllib.request.Request(
        f"{base}/control/slack/{verb}",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    return json.load(urllib.request.urlopen(request, timeout=10))


def transcript(base, conversation):
    return json.load(urllib.request.urlopen(f"{base}/control/slack/transcript?conversation={conversation}", timeout=10))["entries"]


def ok(name):
    print(f"ok {name}", flush=True)


def heard(requests, fits):
    while True:
        request = requests.get(timeout=max(0.1, DEADLINE - time.monotonic()))
        if fits(request):
            return request


def event(kind, text):
    def fits(request):
        inner = request.payload.get("event", {})
        return request.type == "events_api" and inner.get("type") == kind and text in inner.get("text", "")

    return fits


def main(base):
    web = WebClient(token="xoxb-client-of-tests", base_url=f"{base}/slack/api/", timeout=10)
    me = web.auth_test()
    assert me["bot_id"] and me["user_id"].startswith("U"), me
    ok("auth.test")

    requests = queue.Queue()

    def listener(client, request):
        # A submission is acknowledged with an answer of its own, by the main thread.
        if request.payload.get("type") != "view_submission":
            client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        requests.put(request)

    sockets = SocketModeClient(app_token="xapp-1-A1-client-of-tests", web_client=web, ping_interval=2)
    sockets.socket_mode_request_listeners.append(listener)
    sockets.connect()
    ok("socket")

    control(base, "say", {"conversation": "general", "user": "ann", "text": "hello <b> & all", "mention": True})
    message = heard(requests, event("message", "hello"))
    mention = heard(requests, event("app_mention", "hello"))
    inner = message.payload["event"]
    assert inner["text"] == f"<@{me['user_id']}> hello &lt;b&gt; &amp; all", inner
    assert inner["ts"] == mention.payload["event"]["ts"]
    assert message.payload["event_id"] != mention.payload["event_id"]
    ok("message and mention")

    button = {"type": "button", "action_id": "more", "value": "42", "text": {"type": "plain_text", "text": "More"}}
    posted = web.chat_postMessage(
        channel=inner["channel"],
        thread_ts=inner["ts"],
        text="answer",
        blocks=[
            {"type": "section", "text": {"type": "mrkdwn", "text": "*bold* answer"}},
            {"type": "actions", "elements": [button]},
        ],
    )
    seen = transcript(base, "general")[-1]
    assert seen["text"] == "bold answer" and seen["thread"] == inner["ts"] and seen["buttons"][0]["id"] == "more", seen
    ok("answer with a button")

    control(base, "press", {"conversation": "general", "user": "ann", "message": posted["ts"], "button": "more"})
    press = heard(requests, lambda request: request.payload.get("type") == "block_actions")
    assert press.payload["actions"][0]["value"] == "42"
    ok("press")

    field = {"type": "plain_text_input", "action_id": "city"}
    web.views_open(
        trigger_id=press.payload["trigger_id"],
        view={
            "type": "modal",
            "callback_id": "ask",
            "title": {"type": "plain_text", "text": "Weather"},
            "submit": {"type": "plain_text", "text": "Ask"},
            "blocks": [
                {"type": "input", "block_id": "where", "label": {"type": "plain_text", "text": "City"}, "element": field}
            ],
        },
    )
    control(base, "submit", {"conversation": "general", "user": "ann", "values": {"City": "Oslo"}})
    submission = heard(requests, lambda request: request.payload.get("type") == "view_submission")
    assert submission.payload["view"]["state"]["values"]["where"]["city"]["value"] == "Oslo"
    answer = {"response_action": "errors", "errors": {"where": "too cold"}}
    sockets.send_socket_mode_response(SocketModeResponse(envelope_id=submission.envelope_id, payload=answer))
    while not any("too cold" in entry["text"] for entry in transcript(base, "general")):
        time.sleep(0.05)
    ok("modal and submission")

    control(base, "app", {"name": "toolgate", "commands": ["/weather"]})
    control(base, "command", {"conversation": "general", "user": "ann", "name": "weather", "args": {"city": "Oslo"}})
    command = heard(requests, lambda request: request.type == "slash_commands")
    assert command.payload["command"] == "/weather" and command.payload["text"] == "city=Oslo", command.payload
    ok("slash command")

    web.chat_update(channel=inner["channel"], ts=posted["ts"], text="done", blocks=[])
    web.reactions_add(channel=inner["channel"], timestamp=inner["ts"], name="eyes")
    try:
        web.reactions_add(channel=inner["channel"], timestamp=inner["ts"], name="eyes")
        raise AssertionError("a second reaction was taken")
    except SlackApiError as error:
        assert error.response["error"] == "already_reacted"
    ok("update and reaction")

    web.files_upload_v2(channel=inner["channel"], thread_ts=inner["ts"], filename="a.txt", content="bytes", initial_comment="see")
    files = [entry for entry in transcript(base, "general") if entry["files"]]
    assert files and files[-1]["files"][0]["size"] == 5 and files[-1]["text"] == "see", files
    ok("upload")

    replies = web.conversations_replies(channel=inner["channel"], ts=inner["ts"])
    assert [reply["ts"] for reply in replies["messages"]][:2] == [inner["ts"], posted["ts"]]
    ok("replies")

    stats = json.load(urllib.request.urlopen(f"{base}/control/slack/stats", timeout=10))
    assert stats["violation_count"] == 0, stats["violations"]
    ok("no violation")
    sockets.close()


if __name__ == "__main__":
    # The sockets of the client live in threads that would outlive a failure.
    watchdog = threading.Timer(58, lambda: __import__("os")._exit(2))
    watchdog.daemon = True
    watchdog.start()
    main(sys.argv[1].rstrip("/"))
