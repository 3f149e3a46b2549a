"""OpenAI's own client against the demo's gateway: python openai_chat.py SIMULATORS GATEWAY

It lists the models, asks once and as a stream, carries a conversation along, uses the gateway's memory, and is refused.
Prints one `ok NAME` line for each; exits non-zero when one fails.
"""

import sys

import openai

WEATHER = [{"role": "user", "content": "what is the weather in Oslo?"}]


def ok(name):
    print(f"ok {name}", flush=True)


def main(gateway):
    client = openai.OpenAI(base_url=f"{gateway}/v1", api_key="no token is configured", timeout=50)

    assert [model.id for model in client.models.list()] == ["toolgate"]
    ok("models")

    answer = client.chat.completions.create(model="toolgate", messages=WEATHER)
    text = answer.choices[0].message.content
    assert "Oslo" in text and answer.choices[0].finish_reason == "stop", answer
    assert len(answer.reference) == 26, answer
    ok("completion")

    chunks = list(client.chat.completions.create(
        model="toolgate", messages=WEATHER, stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert "Oslo" in "".join(pieces) and len(pieces) > 1, pieces
    assert chunks[-2].choices[0].finish_reason == "stop" and chunks[-1].usage is not None
    ok("stream")

    earlier = [{"role": "system", "content": "Answer in one line."}, *WEATHER, {"role": "assistant", "content": text}]
    told = client.chat.completions.create(
        model="toolgate", messages=[*earlier, {"role": "user", "content": "what did I ask before?"}])
    assert "weather in Oslo" in told.choices[0].message.content, told
    fresh = client.chat.completions.create(model="toolgate", messages=[{"role": "user", "content": "what did I ask before?"}])
    assert "weather in Oslo" not in fresh.choices[0].message.content, fresh
    ok("conversation")

    session = {"x-toolgate-session": "a-test"}
    client.chat.completions.create(model="toolgate", messages=WEATHER, extra_headers=session)
    kept = client.chat.completions.create(
        model="toolgate", messages=[{"role": "user", "content": "what did I ask before?"}], extra_headers=session)
    assert "weather in Oslo" in kept.choices[0].message.content, kept
    ok("session")

    tools = [{"type": "function", "function": {"name": "mine", "parameters": {"type": "object"}}}]
    try:
        client.chat.completions.create(model="toolgate", messages=WEATHER, tools=tools)
        raise AssertionError("tools of the client were taken")
    except openai.BadRequestError as error:
        assert error.param == "tools" and error.code == "args.invalid", error.body
    ok("refusal")


main(sys.argv[2])
