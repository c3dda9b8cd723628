#!/usr/bin/env python3
"""A client of Beaver for Python 3.9 and later: one file, without dependencies, over the HTTP API.

    from beaver import Beaver

    client = Beaver("http://127.0.0.1:20000", token="beaver_...")
    task = client.submit("Summarise the report in notes.md")
    print(client.result(task.task_id).output)

As a command, with the address in BEAVER_URL and the token in BEAVER_TOKEN:

    python3 beaver.py submit "Summarise the report in notes.md"

What a lost connection can do to a request:
- A request that may be sent again is sent again: one that reads, one with an idempotency key, a cancel.
- A decision and an answer are sent once. If their answer is lost, the failure is `unreachable`; send them
  again, and `conflict` then says that the first one arrived.
- `watch` connects again and continues behind the last event that it gave, so it gives each event once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import ssl
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

__all__ = ["Asked", "Beaver", "BeaverError", "Event", "Result", "Task"]

TERMINAL = ("task_completed", "task_incomplete", "task_failed", "task_cancelled")
"""The events that end a task. Each is the last event of its task."""

_PASSING = (429, 502, 503, 504)
"""The statuses of a gateway that is full, is starting, or has no daemon at the moment."""

_LINE_BYTES_MAX = 64 * 1024 * 1024


class BeaverError(Exception):
    """A request failed. Compare `code`, never the text.

    `code` is a code of Beaver (docs/reference/errors.md) or of HTTP, such as `unauthorized`. It is
    `unreachable` with `status` 0 if no answer came. `problems` names the faults of the request, each with the
    place where it is.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int = 0,
        problems: Sequence[Mapping[str, str]] = (),
        retry_after_s: Optional[float] = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.status = status
        self.problems: List[Dict[str, str]] = [dict(each) for each in problems]
        self.retry_after_s = retry_after_s

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed a moment later."""
        return self.status in _PASSING or (self.status == 0 and self.code == "unreachable")


@dataclass(frozen=True)
class Task:
    """An accepted task. It is durable."""

    task_id: str
    session_id: str
    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Asked:
    """A call that waits for a person: `kind` is "approval" or "question"."""

    kind: str
    task_id: str
    call_id: str
    tool: str
    message: str
    """The question, or what the call would act on. A model wrote it: do not trust it."""
    call_hash: Optional[str] = None
    """Only for an approval: what the person was shown. A decision about a call that changed is refused."""
    question_index: Optional[int] = None
    options: Tuple[str, ...] = ()
    form: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class Event:
    """One event of a task. A piece of an answer (`delta`) and the progress of a call have the number 0."""

    task_id: str
    number: int
    type: str
    data: Mapping[str, Any]
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def terminal(self) -> bool:
        return self.type in TERMINAL

    @property
    def asked(self) -> Optional[Asked]:
        """What waits for a person since this event. Somebody may have decided since then."""
        data = self.data
        # Two runs of a task may have calls of the same id.
        run = self.raw.get("runid")
        call = data.get("call_id")
        call_id = f"{run}/{call}" if run else str(call)
        if self.type == "approval_requested":
            return Asked("approval", self.task_id, call_id, data["tool_name"], data["subject"], data.get("call_hash"))
        if self.type == "question_asked":
            question = data["question"]
            return Asked(
                "question",
                self.task_id,
                call_id,
                data["tool_name"],
                question["message"],
                question_index=data["question_index"],
                options=tuple(question.get("options", ())),
                form=question.get("form"),
            )
        return None


@dataclass(frozen=True)
class Result:
    """How a task ended: `status` is completed, incomplete, failed or cancelled."""

    task_id: str
    status: str
    output: str
    """The answer. It is empty if the task did not complete."""
    value: Any
    """The answer as a JSON value. None: the task has no output_schema, or it did not complete."""
    failure: Optional[Mapping[str, Any]]
    """Why the task did not complete: `class` and `message`. None: it completed."""
    data: Mapping[str, Any] = field(repr=False)


class Beaver:
    """A gateway of Beaver, and a token for it. Threads may share one."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        timeout_s: float = 45.0,
        patience_s: float = 120.0,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """
        url: the address of the gateway. Default: BEAVER_URL, or http://127.0.0.1:20000.
        token: default: BEAVER_TOKEN.
        timeout_s: after this silence, a connection is lost. The gateway sends something every 15 seconds.
        patience_s: for how long a request that may be sent again is sent again.
        context: the certificates that count. Default: those of this machine.
        """
        self.url = (url or os.environ.get("BEAVER_URL") or "http://127.0.0.1:20000").rstrip("/")
        if not re.match(r"https?://", self.url):
            raise ValueError("The address of the gateway begins with http:// or https://.")
        self._token = token or os.environ.get("BEAVER_TOKEN") or ""
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._opener = build_opener(_NoRedirect(), HTTPSHandler(context=context))

    def submit(
        self, task: Optional[str] = None, *, idempotency_key: Optional[str] = None, **fields: Any
    ) -> Task:
        """Submits a task. It is durable when this returns.

        task: what to do, in words. None: `workflow` in fields says what to do.
        fields: those of the request `task.submit` (docs/reference/wire.md), such as session_id, workspace,
        skill, profile, budget and output_schema.
        idempotency_key: the same key with the same task always names one task. Default: a new key.
        """
        key = idempotency_key or str(uuid.uuid4())
        body = fields if task is None else {"task": task, **fields}
        answer = self._ask("POST", "/api/v1/tasks", body, again=True, key=key)
        return Task(answer["task_id"], answer["session_id"], answer)

    def watch(self, task_id: str, after: int = 0, *, live: bool = False) -> Iterator[Event]:
        """Gives the events of a task behind the number `after`, as they happen, until the task ends.

        live: also gives the pieces of answers and the progress of calls. They may be lost.
        """
        path = f"{_task(task_id)}/events{'?live=true' if live else ''}"
        last, tries, until = after, 0, time.monotonic() + self._patience_s
        while True:
            try:
                for number, kind, text in self._stream(path, last):
                    tries, until = 0, time.monotonic() + self._patience_s
                    record = json.loads(text)
                    if kind == "error":
                        raise _problem(record.get("status", 500), record)
                    if number is None:
                        yield Event(task_id, 0, kind, record, record)
                        continue
                    if number <= last:
                        continue
                    event = Event(task_id, number, kind, record.get("data") or {}, record)
                    last = number
                    yield event
                    if event.terminal:
                        return
                if last > 0 and self._ended_at(task_id, last):
                    return
                failure = BeaverError("unreachable", "The gateway ended the stream before the task ended.")
            except BeaverError as error:
                failure = error
            if not failure.passing or time.monotonic() > until:
                raise failure
            _pause(tries, failure)
            tries += 1

    def result(self, task_id: str) -> Result:
        """Waits for the end of a task, also while the task waits for a person."""
        for event in self.watch(task_id):
            if event.terminal:
                return _result(event)
        raise AssertionError("watch() ends with a terminal event or with a failure")

    def _ended_at(self, task_id: str, number: int) -> bool:
        """Whether the event with this number, or an earlier one, is the last one of a task that has ended."""
        task = self.task(task_id)["task"]
        return f"task_{task['status']}" in TERMINAL and task["last_taskseq"] <= number

    def task(self, task_id: str) -> Mapping[str, Any]:
        """Shows a task. The answer may be a moment old."""
        return self._ask("GET", _task(task_id))

    def tasks(self, **filter: Any) -> Iterator[Mapping[str, Any]]:
        """Lists tasks, newest first: tasks(status=["failed", "incomplete"], text="report"). A page is read when
        it is needed."""
        while True:
            page = self._ask("GET", f"/api/v1/tasks?{_query(filter)}")
            yield from page["tasks"]
            if not page["more"] or page["next"] is None:
                return
            filter = {**filter, "before": page["next"]}

    def inbox(self, **filter: Any) -> List[Mapping[str, Any]]:
        """Lists what waits for a person in all tasks that the token reaches. It may be a moment old."""
        return self._ask("GET", f"/api/v1/inbox?{_query(filter)}")["entries"]

    def approve(
        self,
        asked: Asked,
        *,
        arguments: Optional[Mapping[str, Any]] = None,
        reason: Optional[str] = None,
    ) -> None:
        """Lets a call run. arguments: those with which it is made instead of the model's."""
        self._decide("approve", asked, reason, {} if arguments is None else {"arguments": json.dumps(arguments)})

    def deny(self, asked: Asked, *, reason: Optional[str] = None) -> None:
        """Refuses a call. The model reads the reason."""
        self._decide("deny", asked, reason, {})

    def answer(
        self,
        asked: Asked,
        *answers: str,
        content: Optional[Mapping[str, Any]] = None,
        action: str = "accept",
        reason: Optional[str] = None,
    ) -> None:
        """Answers a question: answer(asked, "main"). content: the fields, if the question has a form.
        action: accept, decline or cancel."""
        said: Dict[str, Any] = {"action": action}
        if answers:
            said["answers"] = list(answers)
        if content is not None:
            said["content"] = content
        body: Dict[str, Any] = {"call_id": asked.call_id, "answer": said}
        if asked.question_index is not None:
            body["question_index"] = asked.question_index
        if reason is not None:
            body["reason"] = reason
        self._ask("POST", f"{_task(asked.task_id)}/answer", body)

    def cancel(self, task_id: str, *, reason: Optional[str] = None, node_id: Optional[str] = None) -> None:
        """Cancels a task, or one node of its team."""
        body = {name: value for name, value in (("reason", reason), ("node_id", node_id)) if value is not None}
        self._ask("POST", f"{_task(task_id)}/cancel", body, again=True)

    def steer(self, task_id: str, text: str, *, idempotency_key: Optional[str] = None) -> None:
        """Gives a running task one more text of its user."""
        key = idempotency_key or str(uuid.uuid4())
        self._ask("POST", f"{_task(task_id)}/steer", {"text": text}, again=True, key=key)

    def _decide(self, verb: str, asked: Asked, reason: Optional[str], more: Mapping[str, Any]) -> None:
        body: Dict[str, Any] = {"call_id": asked.call_id, **more}
        if asked.call_hash is not None:
            body["call_hash"] = asked.call_hash
        if reason is not None:
            body["reason"] = reason
        self._ask("POST", f"{_task(asked.task_id)}/{verb}", body)

    def _ask(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        again: bool = False,
        key: Optional[str] = None,
    ) -> Any:
        """Sends a request. again: it may be sent again; a GET always may."""
        headers = {} if key is None else {"Idempotency-Key": key}
        tries, until = 0, time.monotonic() + self._patience_s
        while True:
            try:
                with self._open(method, path, headers, body) as answer:
                    return json.loads(_read(answer))
            except BeaverError as error:
                # With this status the gateway has refused the request, and has done nothing.
                refused = error.status in (429, 503)
                if not error.passing or not (again or refused or method == "GET") or time.monotonic() > until:
                    raise
                _pause(tries, error)
                tries += 1

    def _stream(self, path: str, after: int) -> Iterator[Tuple[Optional[int], str, str]]:
        """The messages of one connection: the id, the name, and the data."""
        headers = {"Accept": "text/event-stream"}
        if after > 0:
            headers["Last-Event-ID"] = str(after)
        with self._open("GET", path, headers) as answer:
            number: Optional[int] = None
            kind, lines = "message", []  # type: str, List[str]
            while True:
                line = _line(answer)
                if line is None:
                    return
                if line == "":
                    if lines:
                        yield number, kind, "\n".join(lines)
                    number, kind, lines = None, "message", []
                    continue
                name, _, value = line.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if name == "id" and value.isdigit():
                    number = int(value)
                elif name == "event":
                    kind = value
                elif name == "data":
                    lines.append(value)

    def _open(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[Mapping[str, Any]] = None,
    ) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body).encode("utf-8")
        request = Request(self.url + path, data=data, method=method)
        request.add_header("User-Agent", "beaver-python/1")
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name, value)
        try:
            return self._opener.open(request, timeout=self._timeout_s)
        except HTTPError as error:
            with error:
                raise _problem_of(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(error) from error


class _NoRedirect(HTTPRedirectHandler):
    """The gateway sends nobody elsewhere, and a token must not go to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _task(task_id: str) -> str:
    return f"/api/v1/tasks/{quote(task_id, safe='')}"


def _query(filter: Mapping[str, Any]) -> str:
    def text(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    pairs: List[Tuple[str, str]] = []
    for name, value in filter.items():
        if isinstance(value, (list, tuple)):
            pairs.extend((name, text(each)) for each in value)
        elif value is not None:
            pairs.append((name, text(value)))
    return urlencode(pairs)


def _result(event: Event) -> Result:
    data = event.data
    status = event.type[len("task_") :]
    output = data.get("final_output") or ""
    return Result(event.task_id, status, output, data.get("output"), data.get("failure"), data)


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(error) from error


def _line(answer: http.client.HTTPResponse) -> Optional[str]:
    """The next line without its end. None: the connection ended, maybe within a line."""
    try:
        line = answer.readline(_LINE_BYTES_MAX)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _unreachable(error) from error
    if not line.endswith(b"\n"):
        if len(line) >= _LINE_BYTES_MAX:
            raise BeaverError("too_large", f"A message has more than {_LINE_BYTES_MAX} bytes.")
        return None
    return line.rstrip(b"\r\n").decode("utf-8")


def _unreachable(error: Exception) -> BeaverError:
    reason = getattr(error, "reason", None) or error
    return BeaverError("unreachable", f"The gateway does not answer: {reason}")


def _problem_of(error: HTTPError) -> BeaverError:
    try:
        details = json.loads(error.read(1_000_000))
    except (OSError, ValueError, http.client.HTTPException):
        details = {}
    try:
        retry_after_s: Optional[float] = float(error.headers.get("Retry-After", ""))
    except ValueError:
        retry_after_s = None
    return _problem(error.code, details, retry_after_s)


def _problem(status: int, details: Any, retry_after_s: Optional[float] = None) -> BeaverError:
    """The problem of an answer. A proxy before the gateway answers without one."""
    if not isinstance(details, dict) or "code" not in details:
        return BeaverError("unreachable", f"The answer has the status {status}.", status=status)
    return BeaverError(
        details["code"],
        details.get("detail", ""),
        status=status,
        problems=details.get("problems", ()),
        retry_after_s=retry_after_s,
    )


def _pause(tries: int, error: BeaverError) -> None:
    """Waits before the next try: as the gateway asks, or from 0.1 s to 5 s, and never the same for all."""
    wait_s = error.retry_after_s if error.retry_after_s is not None else min(5.0, 0.1 * 2 ** min(tries, 10))
    time.sleep(min(60.0, wait_s) * (0.75 + random.random() / 2))


def _plain(text: str) -> str:
    """Without the characters that command a terminal: a model wrote the text."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", "", text)


def _tell(beaver: Beaver, task_id: str) -> int:
    """Follows a task, and prints what waits for a person and the answer. Returns the exit code."""
    for event in beaver.watch(task_id):
        asked = event.asked
        if asked is not None:
            verb = "approve" if asked.kind == "approval" else "answer"
            options = f" ({' | '.join(asked.options)})" if asked.options else ""
            print(_plain(f"{asked.tool}: {asked.message}{options}"), file=sys.stderr)
            print(_plain(f"  python3 beaver.py {verb} {task_id} {event.number}"), file=sys.stderr)
        if event.terminal:
            result = _result(event)
            if result.output:
                print(_plain(result.output))
            if result.failure is not None:
                print(_plain(f"{result.status}: {result.failure.get('message', '')}"), file=sys.stderr)
            return 0 if result.status == "completed" else 1
    return 1


def _asked(beaver: Beaver, task_id: str, number: int) -> Asked:
    """What the event with this number asks."""
    record = beaver._ask("GET", f"{_task(task_id)}/events?{_query({'after': number - 1, 'limit': 1})}")
    for found in record["events"]:
        if found["taskseq"] == number:
            raw = {"runid": found.get("run_id")}
            asked = Event(task_id, number, found["type"], found["data"] or {}, raw).asked
            if asked is not None:
                return asked
    raise BeaverError("not_found", f"The event {number} of the task {task_id} asks nobody.")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="beaver.py", description="A client of Beaver over HTTP.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, says: str, *names: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=says)
        for each in names:
            made.add_argument(each, type=int if each == "event" else str)
        return made

    submit = command("submit", "submit a task and print its answer", "text")
    submit.add_argument("--session", help="the session to continue")
    submit.add_argument("--detach", action="store_true", help="print the id, and do not wait")
    command("watch", "print the events of a task", "task")
    command("result", "wait for the answer of a task", "task")
    command("tasks", "list the newest tasks").add_argument("--status", action="append")
    command("approve", "let a call run", "task", "event")
    command("deny", "refuse a call", "task", "event").add_argument("--reason")
    command("answer", "answer a question", "task", "event").add_argument("answers", nargs="+")
    command("cancel", "cancel a task", "task")
    command("steer", "give a running task one more text", "task", "text")
    return parser


def _run(beaver: Beaver, given: argparse.Namespace) -> int:
    name = given.command
    if name == "submit":
        fields = {} if given.session is None else {"session_id": given.session}
        task = beaver.submit(given.text, **fields)
        if given.detach:
            print(task.task_id)
            return 0
        print(task.task_id, file=sys.stderr)
        return _tell(beaver, task.task_id)
    if name == "result":
        return _tell(beaver, given.task)
    if name == "watch":
        for event in beaver.watch(given.task):
            print(_plain(f"{event.number}\t{event.type}"), flush=True)
    elif name == "tasks":
        for _, each in zip(range(20), beaver.tasks(status=given.status)):
            print(_plain(f"{each['task_id']}\t{each['status']}\t{each.get('title') or ''}"))
    elif name == "approve":
        beaver.approve(_asked(beaver, given.task, given.event))
    elif name == "deny":
        beaver.deny(_asked(beaver, given.task, given.event), reason=given.reason)
    elif name == "answer":
        beaver.answer(_asked(beaver, given.task, given.event), *given.answers)
    elif name == "cancel":
        beaver.cancel(given.task)
    elif name == "steer":
        beaver.steer(given.task, given.text)
    return 0


def main(arguments: Optional[Sequence[str]] = None) -> int:
    given = _arguments().parse_args(arguments)
    try:
        return _run(Beaver(), given)
    except BeaverError as error:
        print(_plain(f"{error.code}: {error.detail}"), file=sys.stderr)
        for each in error.problems:
            print(_plain(f"  {each.get('path', '')}: {each.get('message', '')}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
