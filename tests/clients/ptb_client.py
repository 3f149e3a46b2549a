"""Drives the Telegram simulator with python-telegram-bot: `ptb_client.py http://127.0.0.1:PORT`.

The bot is the library's own application with its own polling and models; the person acts through the control side. Each
step prints `ok NAME`; the first one that fails ends the program with a code other than zero.
"""

import asyncio
import sys

import httpx
from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaDocument,
    ReactionTypeEmoji,
    Update,
)
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, Conflict, Forbidden
from telegram.ext import Application, ApplicationBuilder, TypeHandler

TOKEN = "5150:ptbclientPTBCLIENTptbclientPTBCLIENT"
TIME = 60
DIRECT = "dm:pat"
# The smallest picture that says of itself what it is.
PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x20\x00\x00\x00\x10\x08\x06\x00\x00\x00"


class Person:
    """What people do on the platform, and what they see."""

    def __init__(self, url: str) -> None:
        self.http = httpx.AsyncClient(base_url=f"{url}/control/telegram/", trust_env=False)

    async def does(self, verb: str, **body) -> dict:
        answer = await self.http.post(verb, json=body)
        answer.raise_for_status()
        return answer.json()

    async def sees(self, conversation: str, fits) -> dict:
        while True:
            answer = await self.http.get("transcript", params={"conversation": conversation})
            for entry in answer.json()["entries"]:
                if fits(entry):
                    return entry
            await asyncio.sleep(0.02)

    async def violations(self) -> list:
        return (await self.http.get("stats")).json()["violations"]


class Heard:
    """Every update, in order, as the library read it."""

    def __init__(self) -> None:
        self.updates: asyncio.Queue[Update] = asyncio.Queue()

    async def next(self, kind: str) -> Update:
        update = await self.updates.get()
        assert getattr(update, kind) is not None, f"{kind} was expected, not {update}"
        return update


def ok(name: str) -> None:
    print(f"ok {name}", flush=True)


async def talks(app: Application, person: Person, heard: Heard) -> None:
    me = await app.bot.get_me()
    assert me.is_bot and me.username and me.can_join_groups
    ok("get_me")

    await person.does("say", conversation=DIRECT, user="pat", text="/start now", language_code="de")
    message = (await heard.next("message")).message
    assert message.text == "/start now" and message.chat.type == "private" and message.from_user.language_code == "de"
    assert list(message.parse_entities()) and message.parse_entities().popitem()[1] == "/start"
    ok("receive a message")

    await message.chat.send_action(ChatAction.TYPING)
    await person.sees(DIRECT, lambda entry: entry["kind"] == "typing")
    buttons = InlineKeyboardMarkup([[InlineKeyboardButton("Go", callback_data="go:1"), InlineKeyboardButton("Site", url="https://e.test")]])
    sent = await message.reply_text("<b>bold</b> &amp; <code>a_b</code>", parse_mode=ParseMode.HTML, reply_markup=buttons, do_quote=True)
    assert sent.text == "bold & a_b" and sent.reply_to_message.message_id == message.message_id
    assert [entity.type for entity in sent.entities] == ["bold", "code"]
    seen = await person.sees(DIRECT, lambda entry: entry["by"] == "bot" and entry["kind"] == "message")
    assert seen["buttons"][0]["text"] == "Go" and seen["text"] == "bold & a_b"
    ok("answer with a keyboard")

    await person.does("press", conversation=DIRECT, user="pat", message=sent.message_id, button="Go")
    query = (await heard.next("callback_query")).callback_query
    assert query.data == "go:1" and query.message.message_id == sent.message_id
    assert await query.answer("pressed", show_alert=True)
    await person.sees(DIRECT, lambda entry: entry["kind"] == "private" and entry["text"] == "pressed")
    ok("get a button pressed")

    edited = await query.edit_message_text("edited")
    assert edited.text == "edited" and edited.edit_date is not None and edited.reply_markup is None
    try:
        await query.edit_message_text("edited")
        raise AssertionError("an unchanged text was taken")
    except BadRequest as refused:
        assert "not modified" in str(refused)
    await person.does("edit", conversation=DIRECT, user="pat", message=message.message_id, text="/start later")
    assert (await heard.next("edited_message")).edited_message.text == "/start later"
    ok("edit both ways")

    await app.bot.set_message_reaction(message.chat_id, message.message_id, "👀")
    await person.does("react", conversation=DIRECT, user="pat", message=edited.message_id, emoji="👍")
    reaction = (await heard.next("message_reaction")).message_reaction
    assert reaction.new_reaction == (ReactionTypeEmoji("👍"),) and reaction.user.id == message.from_user.id
    ok("reactions both ways")
    assert await edited.delete()
    ok("delete")


async def files(app: Application, person: Person, heard: Heard) -> None:
    await person.does("say", conversation=DIRECT, user="pat", text="read it", files=[{"name": "note.txt", "mime": "text/plain", "text": "hello file"}])
    message = (await heard.next("message")).message
    assert message.caption == "read it" and message.document.file_name == "note.txt"
    file = await message.document.get_file()
    assert bytes(await file.download_as_bytearray()) == b"hello file"
    ok("download a file")

    document = await message.reply_document(b"\x00\x01 bytes", filename="answer.bin", caption="here")
    assert document.document.file_size == 8 and document.caption == "here"
    again = await message.reply_document(document.document.file_id)
    assert again.document.file_id == document.document.file_id
    ok("send a document")
    photo = await message.reply_photo(PICTURE, caption="a picture")
    assert (photo.photo[-1].width, photo.photo[-1].height) == (32, 16)
    ok("send a photo")
    album = await message.reply_media_group([InputMediaDocument(b"one", filename="1.txt", caption="both"), InputMediaDocument(b"two", filename="2.txt")])
    assert len(album) == 2 and album[0].media_group_id == album[1].media_group_id
    ok("send an album")

    for kind in ["photo", "video", "animation", "audio", "voice", "video_note", "sticker"]:
        await person.does("say", conversation=DIRECT, user="pat", files=[{"name": f"x.{kind}", "kind": kind, "text": "x"}])
        message = (await heard.next("message")).message
        assert message.effective_attachment, kind
    ok("receive every kind of file")


async def groups(app: Application, person: Person, heard: Heard) -> None:
    me = await app.bot.get_me()
    await person.does("say", conversation="general", user="kim", text="do it", mention=True)
    message = (await heard.next("message")).message
    assert message.chat.type == "supergroup" and message.text.startswith(f"@{me.username}")
    await person.does("say", conversation="forum", user="kim", text="in a topic", thread="Plans")
    created = (await heard.next("message")).message
    assert created.forum_topic_created.name == "Plans"
    topical = (await heard.next("message")).message
    assert topical.is_topic_message and topical.chat.is_forum
    answer = await topical.reply_text("in the topic too")
    assert answer.message_thread_id == topical.message_thread_id
    member = await app.bot.get_chat_member(message.chat_id, message.from_user.id)
    assert member.status == "member"
    assert (await app.bot.get_chat(message.chat_id)).title == "General"
    ok("groups and topics")

    await app.bot.set_my_commands([("weather", "tells the weather")])
    assert (await app.bot.get_my_commands())[0].command == "weather"
    ok("commands")

    await person.does("conversation", name=DIRECT, state="blocked")
    left = (await heard.next("my_chat_member")).my_chat_member
    assert left.new_chat_member.status == "kicked"
    try:
        await app.bot.send_message(left.chat.id, "are you there?")
        raise AssertionError("a person who blocked us was reached")
    except Forbidden:
        pass
    await person.does("conversation", name=DIRECT, state="open")
    await heard.next("my_chat_member")
    ok("be blocked and unblocked")


async def webhooks(app: Application) -> None:
    await app.updater.stop()
    assert await app.bot.set_webhook("https://e.test/hook", secret_token="s-3", max_connections=2)
    info = await app.bot.get_webhook_info()
    assert info.url == "https://e.test/hook" and info.max_connections == 2
    try:
        await app.bot.get_updates()
        raise AssertionError("a poll was answered beside a webhook")
    except Conflict:
        pass
    assert await app.bot.delete_webhook()
    assert not (await app.bot.get_webhook_info()).url
    ok("webhooks")


async def main(url: str) -> None:
    builder = ApplicationBuilder().token(TOKEN)
    app = builder.base_url(f"{url}/telegram/bot").base_file_url(f"{url}/telegram/file/bot").build()
    person, heard = Person(url), Heard()

    async def take(update: Update, _context) -> None:
        await heard.updates.put(update)

    app.add_handler(TypeHandler(Update, take))
    await app.initialize()
    await app.start()
    await app.updater.start_polling(allowed_updates=Update.ALL_TYPES, poll_interval=0, timeout=5)
    try:
        await talks(app, person, heard)
        await files(app, person, heard)
        await groups(app, person, heard)
        await webhooks(app)
        violations = await person.violations()
        assert not violations, violations
        ok("no rule was broken")
    finally:
        if app.updater.running:
            await app.updater.stop()
        await app.stop()
        await app.shutdown()
        await person.http.aclose()


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(sys.argv[1].rstrip("/")), TIME))
