#!/usr/bin/env python3
"""A client of Beaver for Python 3.9 and later: one file, without dependencies, over the HTTP API.

    from beaver import Beaver

    client = Beaver("http://127.0.0.1:20000", token="beaver_...")
    task = client.submit("Summarise the report in notes.md")
    print(client.result(task.task_id).output)

As a command, with the address in BEAVER_URL and the token in BEAVER_TOKEN:

    python3 beaver.py submit "Summarise the report in notes.md"

What a lost connection can do to a request:
- A request that may be sent again is sent again: one that reads, one with an idempotency key, a cancel, the
  answer to a call of your own tool.
- A decision and an answer are sent once. If their answer is lost, the failure is `unreachable`; send them
  again, and `conflict` then says that the first one arrived.
- `watch` connects again and continues behind the last event that it gave, so it gives each event once.
- A request is sent again for `patience_s`, 30 seconds by default. The logger `beaver` warns of the wait, and
  Python prints a warning to the standard error unless the program says otherwise.

Every failure is a BeaverError, also if something else than a gateway answers.
"""

from __future__ import annotations

import argparse
import http.client
import json
import logging
import os
import random
import re
import ssl
import sys
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

__all__ = ["Asked", "Beaver", "BeaverError", "Event", "Result", "Task"]

TERMINAL = ("task_completed", "task_incomplete", "task_failed", "task_cancelled")
"""The events that end a task. Each is the last event of its task."""

_PASSING = (429, 502, 503, 504)
"""The statuses of a gateway that is full, is starting, or has no daemon at the moment."""

_ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""The bytes of one answer, and of one message of a stream."""

_ID = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,128}")
"""An id of Beaver. It goes into a path, where "." and ".." would name another place."""

_KEPT_S = 10.0
"""A stream that was open for so long was a working one: its end is a new failure."""

_log = logging.getLogger("beaver")
_Kind = TypeVar("_Kind")


class BeaverError(Exception):
    """A request failed. Compare `code`, never the text.

    `code` is a code of Beaver (docs/reference/errors.md) or of HTTP, such as `unauthorized`. It is
    `unreachable` if no gateway of Beaver answered: with `status` 0 if nothing did, and else with the status of
    what did, such as 502 of a proxy. It is `invalid_arguments` with `status` 0 if this client refused to send
    the request. `problems` names the faults of the request, each with its place.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int = 0,
        problems: Sequence[Mapping[str, str]] = (),
        retry_after_s: Optional[float] = None,
        passing: bool = False,
    ) -> None:
        lines = [f"{code}: {detail}"]
        lines.extend(f"  {each.get('path', '')}: {each.get('message', '')}" for each in problems)
        super().__init__("\n".join(lines))
        self.code = code
        self.detail = detail
        self.status = status
        self.problems: List[Dict[str, str]] = [dict(each) for each in problems]
        self.retry_after_s = retry_after_s
        """After how many seconds the gateway wants to be asked again. None: it does not say."""
        self.passing = passing or status in _PASSING
        """Whether the same request may succeed a moment later."""


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
        if self.type not in ("approval_requested", "question_asked"):
            return None
        data = self.data
        # Two runs of a task may have calls of the same id.
        run = self.raw.get("runid")
        call_id = _field(data, "call_id", str)
        if run:
            call_id = f"{run}/{call_id}"
        tool = _field(data, "tool_name", str)
        if self.type == "approval_requested":
            return Asked("approval", self.task_id, call_id, tool, _field(data, "subject", str), data.get("call_hash"))
        question = _field(data, "question", dict)
        return Asked(
            "question",
            self.task_id,
            call_id,
            tool,
            _field(question, "message", str),
            question_index=_field(data, "question_index", int),
            options=tuple(str(each) for each in question.get("options") or ()),
            form=question.get("form"),
        )


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
        patience_s: float = 30.0,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """
        url: the address of the gateway. Default: BEAVER_URL, or http://127.0.0.1:20000.
        token: default: BEAVER_TOKEN.
        timeout_s: after this silence, a connection is lost. The gateway sends something every 15 seconds.
        patience_s: for how long a request that may be sent again is sent again. 0: it is sent once.
        context: the certificates that count. Default: those of this machine.

        Raises BeaverError `invalid_arguments` if one of them cannot be used.
        """
        self.url = _address(url or os.environ.get("BEAVER_URL") or "http://127.0.0.1:20000")
        self._token = (token or os.environ.get("BEAVER_TOKEN") or "").strip()
        if not re.fullmatch(r"[\x21-\x7e]*", self._token):
            raise _refused("The token has a space or another character that no token has. Copy it again.")
        if not timeout_s > 0 or not patience_s >= 0:
            raise _refused("timeout_s is a number of seconds above 0, and patience_s one from 0 on.")
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
        return Task(_field(answer, "task_id", str), _field(answer, "session_id", str), answer)

    def watch(self, task_id: str, after: int = 0, *, live: bool = False) -> Iterator[Event]:
        """Gives the events of a task behind the number `after`, as they happen, until the task ends.

        live: also gives the pieces of answers and the progress of calls. They may be lost.
        """
        path = f"{_task(task_id)}/events{'?live=true' if live else ''}"
        last = after
        patience = _Patience(self._patience_s)
        while True:
            opened_s = time.monotonic()
            try:
                for number, kind, text in self._stream(path, last):
                    record = _json(text.encode("utf-8"))
                    if kind == "error":
                        raise _problem(record.get("status"), record)
                    if number is None:
                        yield Event(task_id, 0, kind, record, record)
                        continue
                    if number <= last:
                        continue
                    data = record.get("data") or {}
                    event = Event(task_id, number, kind, _field({"data": data}, "data", dict), record)
                    last, patience = number, _Patience(self._patience_s)
                    yield event
                    if event.terminal:
                        return
                if last > 0 and self._ended_at(task_id, last):
                    return
                failure = _unreachable("The gateway ended the stream before the task ended.", passing=True)
            except BeaverError as error:
                failure = error
            if time.monotonic() - opened_s > _KEPT_S:
                patience = _Patience(self._patience_s)
            patience.wait(failure)

    def result(self, task_id: str) -> Result:
        """Waits for the end of a task, also while the task waits for a person."""
        for event in self.watch(task_id):
            if event.terminal:
                return _result(event)
        raise AssertionError("watch() ends with a terminal event or with a failure")

    def _ended_at(self, task_id: str, number: int) -> bool:
        """Whether the event with this number, or an earlier one, is the last one of a task that has ended."""
        task = _field(self.task(task_id), "task", dict)
        status, last = _field(task, "status", str), _field(task, "last_taskseq", int)
        return f"task_{status}" in TERMINAL and last <= number

    def task(self, task_id: str) -> Mapping[str, Any]:
        """Shows a task. The answer may be a moment old."""
        return self._ask("GET", _task(task_id))

    def tasks(self, **filter: Any) -> Iterator[Mapping[str, Any]]:
        """Lists tasks, newest first: tasks(status=["failed", "incomplete"], text="report"). A page is read when
        it is needed."""
        while True:
            page = self._ask("GET", f"/api/v1/tasks?{_query(filter)}")
            yield from _field(page, "tasks", list)
            following = page.get("next")
            if not page.get("more") or following is None or following == filter.get("before"):
                return
            filter = {**filter, "before": following}

    def inbox(self, **filter: Any) -> List[Mapping[str, Any]]:
        """Lists what waits for a person in all tasks that the token reaches. It may be a moment old."""
        return _field(self._ask("GET", f"/api/v1/inbox?{_query(filter)}"), "entries", list)

    def approve(
        self,
        asked: Asked,
        *,
        arguments: Optional[Mapping[str, Any]] = None,
        reason: Optional[str] = None,
    ) -> None:
        """Lets a call run. arguments: those with which it is made instead of the model's."""
        more = {} if arguments is None else {"arguments": _written(arguments)}
        self._decide("approve", asked, reason, more)

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

    def answer_call(self, task_id: str, call_id: str, content: str = "", *, error: Optional[str] = None) -> None:
        """Answers a call of a tool that the task brought in `client_tools`. error: why it could not be made; the
        model reads it. The event `client_call_requested` has the call_id."""
        said = {"call_id": call_id, "content": content, **({} if error is None else {"error": error})}
        self._ask("POST", f"{_task(task_id)}/client-answers", {"answers": [said]}, again=True)

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
    ) -> Dict[str, Any]:
        """Sends a request. again: it may be sent again; a GET always may."""
        headers: Dict[str, str] = {}
        if key is not None:
            if not re.fullmatch(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?", key):
                raise _refused("An idempotency key has printable ASCII characters only, and no space at its ends.")
            headers["Idempotency-Key"] = key
        patience = _Patience(self._patience_s)
        while True:
            try:
                with self._open(method, path, headers, body) as answer:
                    return _json(self._read(answer), answer)
            except BeaverError as error:
                # With this status the gateway has refused the request, and has done nothing.
                refused = error.status in (429, 503)
                if not (again or refused or method == "GET"):
                    raise
                patience.wait(error)

    def _read(self, answer: http.client.HTTPResponse) -> bytes:
        """A whole answer. One that comes in small pieces has as much time as a silent one."""
        pieces: List[bytes] = []
        size, until_s = 0, time.monotonic() + self._timeout_s
        try:
            while True:
                piece = answer.read1(65536)
                size += len(piece)
                if not piece:
                    break
                if size > _ANSWER_BYTES_MAX:
                    raise _too_large()
                if time.monotonic() > until_s:
                    raise _unreachable(f"The answer was not complete after {self._timeout_s:g} seconds.", passing=True)
                pieces.append(piece)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise _cut(error) from error
        if answer.length:
            raise _unreachable("The connection ended within an answer.", passing=True)
        return b"".join(pieces)

    def _stream(self, path: str, after: int) -> Iterator[Tuple[Optional[int], str, str]]:
        """The messages of one connection: the id, the name, and the data."""
        headers = {"Accept": "text/event-stream"}
        if after > 0:
            headers["Last-Event-ID"] = str(after)
        with self._open("GET", path, headers) as answer:
            if answer.headers.get_content_type() != "text/event-stream":
                raise _foreign(answer, self._read(answer))
            number: Optional[int] = None
            kind, size = "message", 0
            lines: List[str] = []
            while True:
                line = _line(answer)
                if line is None:
                    return
                if line == "":
                    if lines:
                        yield number, kind, "\n".join(lines)
                    number, kind, size, lines = None, "message", 0, []
                    continue
                name, _, value = line.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if name == "id" and re.fullmatch("[0-9]{1,15}", value):
                    number = int(value)
                elif name == "event":
                    kind = value
                elif name == "data":
                    size += len(value)
                    if size > _ANSWER_BYTES_MAX:
                        raise _too_large()
                    lines.append(value)

    def _open(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[Mapping[str, Any]] = None,
    ) -> http.client.HTTPResponse:
        data = None if body is None else _written(body).encode("utf-8")
        request = Request(self.url + path, data=data, method=method)
        request.add_header("User-Agent", "beaver-python/1")
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name, value)
        try:
            answer: http.client.HTTPResponse = self._opener.open(request, timeout=self._timeout_s)
            return answer
        except HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except ssl.SSLCertVerificationError as error:
            raise self._away(error, passing=False) from error
        except (OSError, http.client.HTTPException) as error:
            untrusted = isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError)
            foreign = isinstance(error, http.client.HTTPException) and not isinstance(error, ConnectionError)
            raise self._away(error, passing=not untrusted and not foreign) from error
        except ValueError as error:  # A name that no machine can have.
            raise self._away(error, passing=False) from error

    def _away(self, error: Exception, *, passing: bool) -> BeaverError:
        if isinstance(error, http.client.HTTPException) and not passing:
            return _unreachable(f"What answers at {self.url} does not speak HTTP. Does BEAVER_URL name the gateway?")
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        detail = f'The gateway at {self.url} does not answer: {reason}. Does "beaver up" run?'
        return _unreachable(detail, passing=passing)

    def _refusal(self, error: HTTPError) -> BeaverError:
        """The failure of an answer with a status above 299."""
        try:
            text = error.read(1_000_000)
        except (OSError, ValueError, http.client.HTTPException):
            text = b""
        try:
            details = _json(text)
        except BeaverError:
            details = {}
        if not isinstance(details.get("code"), str):
            return _foreign(error, text)
        failure = _problem(error.code, details, _retry_after_s(error.headers.get("Retry-After")))
        if error.code != 401:
            return failure
        what = "The gateway does not know the token that was sent" if self._token else "BEAVER_TOKEN has no token"
        detail = f'{what}. "beaver token create me" makes one; put it into BEAVER_TOKEN.'
        return BeaverError(failure.code, detail, status=401)


class _NoRedirect(HTTPRedirectHandler):
    """The gateway sends nobody elsewhere, and a token must not go to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Patience:
    """The time in which one request is sent again, and the waits between."""

    def __init__(self, seconds: float) -> None:
        self._tries, self._warned = 0, False
        self._until_s = time.monotonic() + seconds

    def wait(self, error: BeaverError) -> None:
        """Waits before the next try, from 0.1 s to 5 s, and never the same for all, or as long as the gateway
        asks. Raises the error if the next try has no place in the time, or if it would end the same."""
        left_s = self._until_s - time.monotonic()
        asked_s = error.retry_after_s or 0.0
        if not error.passing or left_s <= 0 or asked_s > left_s:
            raise error
        wait_s = min(5.0, 0.1 * 2 ** min(self._tries, 10)) * (0.75 + random.random() / 2)
        self._tries += 1
        # A short break tells nobody anything.
        if not self._warned and (self._tries > 3 or asked_s > 1):
            self._warned = True
            _log.warning("%s Asking again for up to %.0f seconds.", error.detail, left_s)
        time.sleep(min(left_s, max(asked_s, wait_s)))


def _address(text: str) -> str:
    """The address of a gateway, without a slash at its end."""
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = False
    if not fits or parts.username is not None or parts.query or parts.fragment or re.search(r"[^\x21-\x7e]", text):
        raise _refused(
            f"{text!r} is not the address of a gateway. One is http://127.0.0.1:20000 or https://beaver.example.com:"
            " give it in BEAVER_URL."
        )
    return text.rstrip("/")


def _task(task_id: str) -> str:
    if not isinstance(task_id, str) or not _ID.fullmatch(task_id) or task_id in (".", ".."):
        raise _refused(f"{task_id!r} is not the id of a task. It has 1 to 128 characters, as task_01m8...")
    return f"/api/v1/tasks/{quote(task_id, safe='')}"


def _written(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"The request cannot be written as JSON: {error}.") from error


def _json(text: bytes, answer: Optional[http.client.HTTPResponse] = None) -> Dict[str, Any]:
    """The JSON object of an answer. Raises `unreachable` if it is something else: then no gateway answered."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _foreign(answer, text)
    return value


def _field(record: Mapping[str, Any], name: str, kind: Type[_Kind]) -> _Kind:
    """A field of an answer."""
    value = record.get(name)
    if not isinstance(value, kind):
        raise _unreachable(f'The answer has no valid "{name}". Does BEAVER_URL name a gateway of Beaver?')
    return value


def _query(filter: Mapping[str, Any]) -> str:
    def text(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    pairs: List[Tuple[str, str]] = []
    for name, value in filter.items():
        if isinstance(value, (list, tuple)):
            pairs.extend((name, text(each)) for each in value)
        elif value is not None:
            pairs.append((name, text(value)))
    return urlencode(pairs, errors="replace")


def _result(event: Event) -> Result:
    data = event.data
    status = event.type[len("task_") :]
    output, failure = data.get("final_output"), data.get("failure")
    return Result(
        event.task_id,
        status,
        output if isinstance(output, str) else "",
        data.get("output"),
        failure if isinstance(failure, dict) else None,
        data,
    )


def _line(answer: http.client.HTTPResponse) -> Optional[str]:
    """The next line without its end. None: the connection ended, maybe within a line."""
    try:
        line = answer.readline(_ANSWER_BYTES_MAX)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _cut(error) from error
    if not line.endswith(b"\n"):
        if len(line) >= _ANSWER_BYTES_MAX:
            raise _too_large()
        return None
    return line.rstrip(b"\r\n").decode("utf-8", errors="replace")


def _refused(detail: str) -> BeaverError:
    """This client does not send the request."""
    return BeaverError("invalid_arguments", detail)


def _unreachable(detail: str, *, passing: bool = False) -> BeaverError:
    return BeaverError("unreachable", detail, passing=passing)


def _cut(error: Exception) -> BeaverError:
    return _unreachable(f"The connection to the gateway was lost: {error or type(error).__name__}.", passing=True)


def _too_large() -> BeaverError:
    return BeaverError("too_large", f"The answer has more than {_ANSWER_BYTES_MAX} bytes.")


def _foreign(answer: Any, text: bytes) -> BeaverError:
    """Something else than a gateway answered, such as a proxy in front of it. answer: an HTTPResponse, an
    HTTPError, or None for a message of a stream."""
    status = getattr(answer, "status", None) or getattr(answer, "code", 0) or 0
    begins = " ".join(_plain(text[:400].decode("utf-8", errors="replace")).split())[:80]
    says = f"It begins with: {begins}" if begins else "It is empty."
    where = answer.headers.get("Location") if 300 <= status < 400 else None
    if where:
        says = f"It sends you to {_plain(where)[:200]}. Give that address in BEAVER_URL if you trust it."
    with_status = f" with the status {status}" if status else ""
    return BeaverError(
        "unreachable",
        f"The answer{with_status} is not from a gateway of Beaver. {says}",
        status=status,
        retry_after_s=None if answer is None else _retry_after_s(answer.headers.get("Retry-After")),
    )


def _retry_after_s(text: Optional[str]) -> Optional[float]:
    """The header Retry-After in seconds from now, which is a number or a date. None: there is none that is
    valid."""
    text = (text or "").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _problem(status: Any, details: Mapping[str, Any], retry_after_s: Optional[float] = None) -> BeaverError:
    """The failure that a gateway tells, which is a problem of RFC 9457."""
    found = details.get("problems")
    problems = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return BeaverError(
        str(details.get("code", "internal")),
        str(details.get("detail") or details.get("title") or "The gateway does not say why."),
        status=status if isinstance(status, int) else 500,
        problems=[{name: str(value) for name, value in each.items()} for each in problems],
        retry_after_s=retry_after_s,
    )


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
    for found in _field(record, "events", list):
        if isinstance(found, dict) and found.get("taskseq") == number:
            raw, data = {"runid": found.get("run_id")}, found.get("data")
            kind = _field(found, "type", str)
            asked = Event(task_id, number, kind, data if isinstance(data, dict) else {}, raw).asked
            if asked is not None:
                return asked
    raise BeaverError("not_found", f"The event {number} of the task {task_id} asks nobody.")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="beaver.py",
        description="A client of Beaver over HTTP. BEAVER_URL has the address of the gateway, BEAVER_TOKEN the token.",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="for how long a gateway is asked again that does not answer (default: 30)",
    )
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
            print(_plain(f"{_field(each, 'task_id', str)}\t{each.get('status')}\t{each.get('title') or ''}"))
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
    for stream in (sys.stdout, sys.stderr):
        # A terminal that has no letter for a character shows a question mark.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = _run(Beaver(patience_s=given.patience), given)
        sys.stdout.flush()
        return code
    except BeaverError as error:
        print(_plain(str(error)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # What reads the output has enough, such as "head". Nothing is written at the exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(main())
