"""Drives the local Discord with discord.py: a client that knows nothing of ours.

Usage: discord_py.py URL, where URL is that of the running simulators. Prints `ok NAME` for each thing that works.
"""

import asyncio
import json
import sys
import urllib.error
import urllib.request

import discord
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route

URL = sys.argv[1].rstrip("/")
TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.abcdef.discord-py-in-a-test"
PATIENCE = 50


def ask(verb, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}/control/discord/{path}", data, {"content-type": "application/json"}, method=verb)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        raise RuntimeError(f"{path}: {refusal.read().decode()}") from None


async def control(verb, path, body=None):
    return await asyncio.to_thread(ask, verb, path, body)


def ok(name):
    print("ok", name, flush=True)


class Buttons(discord.ui.View):
    def __init__(self, pressed):
        super().__init__(timeout=None)
        self.pressed = pressed

    @discord.ui.button(label="Again", style=discord.ButtonStyle.primary, custom_id="again")
    async def again(self, interaction, _button):
        await interaction.response.send_message("pressed", ephemeral=True)
        self.pressed.set_result(interaction.user.display_name)


class Form(discord.ui.Modal, title="Report"):
    words = discord.ui.TextInput(label="What happened?", style=discord.TextStyle.paragraph)

    def __init__(self, sent):
        super().__init__()
        self.sent = sent

    async def on_submit(self, interaction):
        await interaction.response.send_message(f"noted: {self.words.value}")
        self.sent.set_result(self.words.value)


class Bot(discord.Client):
    def __init__(self):
        intents = discord.Intents.default()
        intents.message_content = True
        intents.members = True
        super().__init__(intents=intents, status=discord.Status.online)
        self.tree = app_commands.CommandTree(self)
        self.heard = asyncio.Queue()
        self.edited = asyncio.Queue()
        self.reacted = asyncio.Queue()

    async def on_message(self, message):
        if message.author != self.user:
            await self.heard.put(message)

    async def on_message_edit(self, _before, after):
        if after.author != self.user:
            await self.edited.put(after)

    async def on_reaction_add(self, reaction, user):
        if user != self.user:
            await self.reacted.put((str(reaction.emoji), user.display_name))


async def entry(conversation, fits, after=0):
    while True:
        found = await control("GET", f"transcript?conversation={conversation}&after={after}&wait=10")
        for one in found["entries"]:
            if fits(one):
                return one
        after = max([after, *(one["n"] for one in found["entries"])])


async def messages(bot):
    await control("POST", "say", {"conversation": "general", "user": "ann", "text": "hello", "mention": True})
    message = await bot.heard.get()
    assert message.content.endswith(" hello") and bot.user in message.mentions, message.content
    assert message.guild.name == "Toolgate" and message.channel.name == "general", message.channel
    assert message.author.display_name == "ann", message.author
    ok("a mention is heard")

    answer = await message.reply("**hi** `there`", mention_author=False)
    seen = await entry("general", lambda one: one.get("message") == str(answer.id))
    assert seen["text"] == "hi there" and seen["reply_to"] == str(message.id) and seen["mentions"] == 0, seen
    ok("a reply is seen and notifies nobody")

    await answer.edit(content="changed")
    await entry("general", lambda one: one["kind"] == "edit" and one["text"] == "changed")
    await answer.add_reaction("👀")
    await entry("general", lambda one: one["kind"] == "reaction" and one["text"] == "👀")
    await control("POST", "react", {"conversation": "general", "user": "ann", "message": str(answer.id), "emoji": "👍"})
    assert await bot.reacted.get() == ("👍", "ann")
    await answer.delete()
    await entry("general", lambda one: one["kind"] == "delete")
    ok("edits, reactions and deletions both ways")

    async with message.channel.typing():
        await entry("general", lambda one: one["kind"] == "typing")
    file = discord.File(__file__, filename="client.py", description="this file")
    embed = discord.Embed(title="Title", description="Text").add_field(name="n", value="v")
    sent = await message.channel.send("with a file", file=file, embed=embed)
    seen = await entry("general", lambda one: one.get("message") == str(sent.id))
    assert seen["files"][0]["name"] == "client.py" and "Title" in seen["text"], seen
    with open(__file__, "rb") as own:
        assert await sent.attachments[0].read() == own.read()
    ok("a file with an embed goes up and comes down")

    said = {"conversation": "dm:bob", "user": "bob", "text": "see", "files": [{"name": "a.txt", "text": "inside"}]}
    await control("POST", "say", said)
    direct = await bot.heard.get()
    assert isinstance(direct.channel, discord.DMChannel) and await direct.attachments[0].read() == b"inside"
    await direct.channel.send("private answer")
    await entry("dm:bob", lambda one: one["text"] == "private answer")
    ok("a direct conversation")

    edit = {"conversation": "dm:bob", "user": "bob", "message": str(direct.id), "text": "seen"}
    await control("POST", "edit", edit)
    assert (await bot.edited.get()).content == "seen"
    history = [one.content async for one in message.channel.history(limit=10)]
    assert history[0] == "with a file", history
    ok("what was edited and what was said before")

    thread = await message.create_thread(name="aside")
    await thread.send("in the thread")
    seen = await entry("general", lambda one: one["text"] == "in the thread")
    assert seen["thread"] == "aside", seen
    await control("POST", "say", {"conversation": "general", "user": "ann", "text": "back", "thread": "aside"})
    assert (await bot.heard.get()).channel == thread
    ok("a thread")


async def buttons(bot):
    pressed = asyncio.get_running_loop().create_future()
    channel = discord.utils.get(bot.get_all_channels(), name="general")
    sent = await channel.send("press", view=Buttons(pressed))
    press = {"conversation": "general", "user": "ann", "message": str(sent.id), "button": "Again"}
    await control("POST", "press", press)
    assert await pressed == "ann"
    seen = await entry("general", lambda one: one["kind"] == "private" and one["by"] == "bot")
    assert seen["text"] == "pressed" and seen["to"] == "ann", seen
    ok("a button is pressed and answered in private")


async def commands(bot):
    sent = asyncio.get_running_loop().create_future()

    @bot.tree.command(description="Adds two numbers")
    @app_commands.describe(first="one", second="other")
    async def add(interaction, first: int, second: app_commands.Range[float, 0, 10], who: discord.Member = None):
        await interaction.response.defer()
        await interaction.followup.send(f"{first + second} for {who.display_name if who else 'nobody'}")

    @bot.tree.command(description="Says a colour")
    async def colour(interaction, name: str):
        await interaction.response.send_message(name, ephemeral=True)

    @colour.autocomplete("name")
    async def names(_interaction, current):
        known = ["red", "green", "blue"]
        return [app_commands.Choice(name=one.title(), value=one) for one in known if one.startswith(current)]

    @bot.tree.command(description="Opens a form")
    async def report(interaction):
        await interaction.response.send_modal(Form(sent))

    assert len(await bot.tree.sync()) == 3
    menu = await control("GET", "menu?conversation=general")
    assert {one["name"] for one in menu["commands"]} == {"add", "colour", "report"}, menu
    ok("commands are registered")

    call = {"conversation": "general", "user": "ann", "name": "add", "args": {"first": 2, "second": 0.5, "who": "bob"}}
    await control("POST", "say", {"conversation": "general", "user": "bob", "text": "here"})
    await bot.heard.get()
    await control("POST", "command", call)
    await entry("general", lambda one: one["text"] == "2.5 for bob" and one["kind"] == "message")
    ok("a command with typed options, deferred")

    typed = {"conversation": "dm:ann", "user": "ann", "name": "colour", "field": "name", "typed": "g"}
    found = await control("POST", "autocomplete", typed)
    assert found["choices"] == [{"name": "Green", "value": "green"}], found
    await control("POST", "command", {"conversation": "dm:ann", "user": "ann", "name": "colour", "args": "green"})
    seen = await entry("dm:ann", lambda one: one["by"] == "bot")
    assert seen["text"] == "green" and seen["to"] == "ann", seen
    ok("completion, and an answer that one person sees")

    call = await control("POST", "command", {"conversation": "general", "user": "ann", "name": "report"})
    await entry("general", lambda one: one["kind"] == "modal" and one["by"] == "bot")
    form = {"conversation": "general", "user": "ann", "interaction": call["interaction"], "values": {"What happened?": "rain"}}
    await control("POST", "submit", form)
    assert await sent == "rain"
    await entry("general", lambda one: one["text"] == "noted: rain")
    ok("a form is filled in")


async def sockets(bot):
    for fault in [{"kind": "disconnect"}, {"kind": "reconnect"}, {"kind": "close", "status": 4000}, {"kind": "invalid_session", "resumable": True}]:
        before = (await control("GET", "stats"))["gateway"].get("resumed", 0)
        await control("POST", "fault", fault)
        await control("POST", "say", {"conversation": "dm:bob", "user": "bob", "text": f"after {fault['kind']}"})
        assert (await bot.heard.get()).content == f"after {fault['kind']}"
        while (await control("GET", "stats"))["gateway"].get("resumed", 0) == before:
            await asyncio.sleep(0.05)
        ok(f"{fault['kind']}: resumed, nothing lost")


async def main():
    Route.BASE = f"{URL}/discord/api/v10"
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(URL.replace("http", "ws") + "/discord/gateway")
    discord.utils.setup_logging(level=40)  # what goes wrong inside the library is its own to say
    bot = Bot()
    running = asyncio.create_task(bot.start(TOKEN))
    ready = asyncio.create_task(bot.wait_until_ready_when_started())
    await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        running.result()
    ok("connected")
    await messages(bot)
    await buttons(bot)
    await commands(bot)
    await sockets(bot)
    stats = await control("GET", "stats")
    assert stats["violation_count"] == 0, stats["violations"]
    ok("no rule was broken")
    await bot.close()
    await running


async def started(self):
    while not self.is_ready():
        await asyncio.sleep(0.02)


Bot.wait_until_ready_when_started = started

if __name__ == "__main__":
    try:
        asyncio.run(asyncio.wait_for(main(), PATIENCE))
    except Exception as failure:
        print(f"failed: {failure!r}", file=sys.stderr, flush=True)
        raise SystemExit(1) from failure
