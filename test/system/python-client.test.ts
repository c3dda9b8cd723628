// The client for Python (clients/python/beaver.py) against a gateway on a real port, in front of a real
// daemon. Each test runs a program in Python that prints one JSON text a line, and answers what it waits for.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { until } from '@beaver/testing'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const file = `${root}clients/python/beaver.py`

let scene: ProtocolScene
let python = ''
beforeAll(async () => {
  // `python3` may be a script that looks for the interpreter, which takes longer than the programs here.
  const { status, stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error('These tests need python3. Install Python 3.9 or later.')
  python = stdout.trim()
  scene = await keptScene()
})

const running = new Set<ChildProcess>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
})

interface Program {
  /** What it printed, one item a line. A line that is no JSON is a text. */
  readonly lines: readonly unknown[]
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>
  /** What it wrote to its standard error so far. */
  text(): string
  /** Waits for a line of which this is a part, and returns the line. */
  line<Line extends object>(part: Line): Promise<Line & Record<string, unknown>>
}

type Who = keyof ProtocolScene['tokens']
interface Ran {
  readonly who?: Who
  readonly token?: string
  readonly url?: string
}

function program(
  args: readonly string[],
  { who = 'ann', token, url = scene.gateway.info.url }: Ran = {},
): Program {
  const child = spawn(python, args, {
    cwd: scene.system.workspace,
    env: {
      PATH: process.env['PATH'] ?? '',
      PYTHONPATH: `${root}clients/python`,
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONUNBUFFERED: '1',
      PYTHONIOENCODING: 'utf-8',
      BEAVER_URL: url,
      BEAVER_TOKEN: token ?? scene.tokens[who],
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const lines: unknown[] = []
  let [out, err, rest] = ['', '', '']
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    const parts = `${rest}${text}`.split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.map((each) => (each.startsWith('{') ? (JSON.parse(each) as unknown) : each)))
  })
  const ended = new Promise<Awaited<Program['ended']>>((resolve) =>
    child.once('close', (code) => {
      running.delete(child)
      resolve({ code, out, err })
    }),
  )
  return {
    lines,
    ended,
    text: () => err,
    async line<Line extends object>(part: Line) {
      const found = (): unknown =>
        lines.find((line) => Object.entries(part).every(([name, value]) => Object(line)[name] === value))
      await until(
        `a line with ${JSON.stringify(part)}`,
        () => found() !== undefined || child.exitCode !== null,
      )
      if (found() === undefined) throw new Error(`The program ended without the line:\n${out}\n${err}`)
      return found() as Line & Record<string, unknown>
    },
  }
}

/** What every program of a test begins with. */
const beginning = `
import json, sys
from beaver import Beaver, BeaverError

def tell(**fields):
    print(json.dumps(fields))

def failure(make):
    try:
        make()
        return None
    except BeaverError as error:
        return {"code": error.code, "status": error.status, "problems": error.problems}

def words(make):
    try:
        make()
        return "no failure"
    except BeaverError as error:
        return str(error)

beaver = Beaver()
`

/** Runs a program that ends by itself, and returns what it printed. */
async function ran(code: string, how?: Ran): Promise<readonly unknown[]> {
  const { lines, ended } = script(code, how)
  const { err } = await ended
  expect(err).toBe('')
  return lines
}
const script = (code: string, how?: Ran): Program => program(['-c', `${beginning}${code}`], how)

/** The gateway answers only to its own name and port, so the program keeps its address and connects elsewhere. */
const through = (proxy: TcpProxy, code: string): string => `
import socket
straight = socket.create_connection
socket.create_connection = lambda _, *more, **named: straight(("127.0.0.1", ${proxy.port}), *more, **named)
${code}`

/** What answers instead of a gateway: the bytes of the whole connection, by the first part of the path. */
const garbage = {
  noHttp: 'SSH-2.0-OpenSSH_9.6\r\n',
  nothing: '',
  empty: answerOf(200, ''),
  page: answerOf(200, '<html>Please log in</html>', 'text/html'),
  page502: answerOf(502, '<html>Bad gateway</html>', 'text/html'),
  notJson: answerOf(200, '{"task_id": '),
  notUtf8: answerOf(200, '\u00ff\u00fe{}'),
  deep: answerOf(200, '['.repeat(100_000)),
  list: answerOf(200, '[]'),
  text: answerOf(200, '"task_id"'),
  wrongTypes: answerOf(200, '{"task_id": 7, "tasks": 7, "entries": {}, "more": true}'),
  cut: 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"task_id": "a"',
  cutChunk: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"task_id"',
  badChunk: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}',
  problem: answerOf(
    400,
    '{"code": "invalid_arguments", "detail": "The request is not valid.", "problems": [{"path": "body.titel", "message": "is not a field"}, 7]}',
  ),
  oddProblem: answerOf(503, '{"code": "no_daemon", "detail": null, "problems": "none", "status": "x"}'),
  noProblem: answerOf(500, '{"code": 7}'),
  stream: answerOf(200, 'id: 1\nevent: run_started\ndata: 7\n\n', 'text/event-stream'),
  streamData: answerOf(200, 'id: 1\nevent: run_started\ndata: {"data": 7}\n\n', 'text/event-stream'),
  streamEnd: answerOf(200, ': nothing\n\nid: x\nid: 999999999999999999999\n\n', 'text/event-stream'),
  streamError: answerOf(200, 'event: error\ndata: {"status": null}\n\n', 'text/event-stream'),
} as const

function answerOf(status: number, body: string, type = 'application/json'): string {
  return `HTTP/1.1 ${status} X\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body, 'latin1')}\r\nConnection: close\r\n\r\n${body}`
}

async function garbageServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      const [, name = ''] = /^\w+ \/(\w+)/.exec(data.toString('latin1')) ?? []
      socket.end(garbage[name as keyof typeof garbage], 'latin1')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

const newProxy = (): Promise<TcpProxy> => tcpProxy(Number(new URL(scene.gateway.info.url).port))

describe('the client for Python', () => {
  it('gives each event once and the result, also after its connection was cut', async () => {
    await using proxy = await newProxy()
    const { line, lines, ended } = script(
      through(
        proxy,
        `
task = beaver.submit("wait py_cut")
tell(task_id=task.task_id)
for event in beaver.watch(task.task_id):
    tell(number=event.number, type=event.type)
result = beaver.result(task.task_id)
tell(status=result.status, output=result.output, failure=result.failure)
`,
      ),
    )
    await line({ type: 'run_started' })
    proxy.cut()
    scene.answer('py_cut', say('after the cut'))
    expect(await ended).toMatchObject({ code: 0, err: '' })
    expect(lines.at(-1)).toEqual({ status: 'completed', output: 'after the cut', failure: null })
    const [{ task_id = '' }] = lines as [{ task_id?: string }]
    const events = await scene.system.events(task_id)
    expect(lines.slice(1, -1)).toEqual(events.map(({ type, taskseq }) => ({ number: taskseq, type })))
  })

  it('submits one task if the answer to its submission is lost', async () => {
    await using proxy = await newProxy()
    proxy.onceSent('POST /api/v1/tasks', () => proxy.muteServer())
    const { lines, ended } = script(
      through(proxy, `tell(task_id=beaver.submit("py once", idempotency_key="py-once").task_id)`),
    )
    await until('the answer is lost', () => proxy.swallowedBytes > 0)
    proxy.cut()
    expect(await ended).toMatchObject({ code: 0, err: '' })
    const [again] = await ran(`
tell(task_id=beaver.submit("py once", idempotency_key="py-once").task_id,
     other=failure(lambda: beaver.submit("py twice", idempotency_key="py-once")))
`)
    expect(again).toEqual({ ...Object(lines[0]), other: { code: 'conflict', status: 409, problems: [] } })
  })

  it('tells refusals by their codes, and what belongs to another user does not exist', async () => {
    const [wrong] = await ran(`tell(**failure(lambda: beaver.submit("hello")))`, { token: 'beaver_wrong' })
    expect(wrong).toEqual({ code: 'unauthorized', status: 401, problems: [] })
    const [mine] = (await ran(`tell(task_id=beaver.submit("hello").task_id)`)) as [{ task_id: string }]
    const named = JSON.stringify(mine.task_id)
    const theirs = await ran(
      `
tell(**failure(lambda: next(beaver.watch(${named}))))
tell(**failure(lambda: beaver.cancel(${named})))
tell(tasks=[each["task_id"] for each in beaver.tasks(task_ids=[${named}])])
tell(**failure(lambda: beaver.submit("hello", titel="x")))
`,
      { who: 'bob' },
    )
    const missing = { code: 'not_found', status: 404, problems: [] }
    expect(theirs).toEqual([
      missing,
      missing,
      { tasks: [] },
      expect.objectContaining({ code: 'invalid_arguments', status: 400 }),
    ])
    expect(Object(theirs.at(-1)).problems).not.toEqual([])
  })

  it('follows no answer to another place, which would get the token', async () => {
    const seen: string[] = []
    await using server = createServer(({ url = '' }, response) => {
      seen.push(url)
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const [refused] = await ran(`tell(**failure(lambda: beaver.task("task_1")))`, { url })
    expect([refused, seen]).toEqual([
      { code: 'unreachable', status: 307, problems: [] },
      ['/api/v1/tasks/task_1'],
    ])
  })

  it('says that nobody answers, when it has waited long enough', async () => {
    const { port, [Symbol.asyncDispose]: close } = await tcpProxy(1)
    await close()
    const url = `http://127.0.0.1:${port}`
    const code = `
beaver = Beaver(patience_s=0)
tell(**failure(lambda: beaver.submit("hello")))
tell(**failure(lambda: beaver.result("task_1")))
`
    const unreachable = { code: 'unreachable', status: 0, problems: [] }
    expect(await ran(code, { url })).toEqual([unreachable, unreachable])
    const told = await program([file, '--patience', '3', 'tasks'], { url }).ended
    expect(told).toMatchObject({ code: 1, out: '' })
    expect(told.err).toMatch(/^The gateway at .* does not answer: .*Asking again for up to \d seconds\.$/m)
    expect(told.err).toMatch(/^unreachable: The gateway at .* Does "beaver up" run\?\n$/m)
  })

  it('takes what is no answer of a gateway as a failure in plain words', async () => {
    await using server = await garbageServer()
    const code = `
beaver = Beaver(patience_s=0, timeout_s=5)
for name in ${JSON.stringify(Object.keys(garbage))}:
    beaver.url = "${server.url}/" + name
    for each in (lambda: beaver.submit("x"), lambda: next(beaver.watch("t")), lambda: next(beaver.tasks()),
                 lambda: beaver.inbox()):
        tell(name=name, said=words(each))
`
    const said = await ran(code)
    expect(said).toHaveLength(4 * Object.keys(garbage).length)
    expect(said.filter((line) => Object(line).said === 'no failure')).toEqual([])
    const of = (name: string): readonly string[] =>
      said.flatMap((line) => (Object(line).name === name ? [String(Object(line).said)] : []))
    const proxyPage =
      'unreachable: The answer with the status 502 is not from a gateway of Beaver. It begins with: <html>Bad gateway</html>'
    expect(of('page502')).toEqual([proxyPage, proxyPage, proxyPage, proxyPage])
    expect(of('empty')[0]).toBe(
      'unreachable: The answer with the status 200 is not from a gateway of Beaver. It is empty.',
    )
    expect(of('cut')[0]).toBe('unreachable: The connection ended within an answer.')
    expect(of('noHttp')[0]).toMatch(/^unreachable: What answers at \S+ does not speak HTTP\./)
    expect(of('wrongTypes')[0]).toBe(
      'unreachable: The answer has no valid "task_id". Does BEAVER_URL name a gateway of Beaver?',
    )
    expect(of('problem')[0]).toBe(
      'invalid_arguments: The request is not valid.\n  body.titel: is not a field',
    )
    expect(of('oddProblem')[0]).toBe('no_daemon: The gateway does not say why.')
  })

  it('waits as long as the gateway asks, and not at all if this is longer than its patience', async () => {
    const asked: string[] = []
    await using server = createServer(({ url = '' }, response) => {
      const after = new URL(url, 'http://gateway').searchParams.get('after') ?? ''
      asked.push(after)
      if (asked.length > 1 && asked.at(-1) === asked.at(-2)) return void response.end('{"entries": []}')
      response.writeHead(429, { 'retry-after': after })
      response.end('{"code": "too_many_requests", "detail": "Later."}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const code = `
for after in ["0", "-5", "nan", "1e400", "soon", "Sun, 06 Nov 1994 08:49:37 GMT"]:
    tell(entries=beaver.inbox(after=after))
for after in ["99999", "Fri, 31 Dec 9999 23:59:59 GMT"]:
    tell(**failure(lambda: beaver.inbox(after=after)))
`
    const later = { code: 'too_many_requests', status: 429, problems: [] }
    expect(await ran(code, { url })).toEqual([
      ...Array.from({ length: 6 }, () => ({ entries: [] })),
      later,
      later,
    ])
    expect(asked).toHaveLength(6 * 2 + 2)
  })

  it('sends nothing for an id, an address or a token that cannot be one', async () => {
    expect(
      await ran(`
for task_id in ["", ".", "..", "a\\nb", "x" * 129, "\\ud800", None]:
    tell(code=failure(lambda: beaver.cancel(task_id))["code"])
for url in ["127.0.0.1:20000", "ftp://x", "http://", "http://x:99999", "http://ann:secret@x", "http://x y", "http://[::1"]:
    tell(code=failure(lambda: Beaver(url))["code"])
tell(code=failure(lambda: Beaver(token="two words"))["code"])
tell(code=failure(lambda: beaver.submit("x", idempotency_key="a\\r\\nb: c"))["code"])
tell(code=failure(lambda: beaver.submit("x", budget={"usd": float("nan")}))["code"])
`),
    ).toEqual(Array.from({ length: 17 }, () => ({ code: 'invalid_arguments' })))
    const bare = await program([file, 'tasks'], { url: 'localhost:20000' }).ended
    expect(bare).toMatchObject({ code: 1, out: '' })
    expect(bare.err).toMatch(/^invalid_arguments: 'localhost:20000' is not the address of a gateway\..*\n$/)
    const unknown = await program([file, 'tasks'], { token: ' ' }).ended
    expect(unknown.err).toBe(
      'unauthorized: BEAVER_TOKEN has no token. "beaver token create me" makes one; put it into BEAVER_TOKEN.\n',
    )
  })

  it('answers the calls of tools that the task brought', async () => {
    scene.system.provider.answerBy(({ results }) =>
      results.length === 0 ? use(['colour', { at: 'door' }]) : say(`So: ${results.join()}`),
    )
    expect(
      await ran(`
task = beaver.submit("py colour", client_tools=[{"name": "colour", "parameters": {"type": "object"}}])
for event in beaver.watch(task.task_id):
    if event.type == "client_call_requested":
        beaver.answer_call(task.task_id, event.data["call_id"], "blue")
        beaver.answer_call(task.task_id, event.data["call_id"], "blue")
        tell(other=failure(lambda: beaver.answer_call(task.task_id, event.data["call_id"], "red"))["code"])
tell(output=beaver.result(task.task_id).output)
`),
    ).toEqual([{ other: 'conflict' }, { output: 'So: blue' }])
    scene.again()
  })

  it('waits for a person, approves a call with other arguments, and is told who was first', async () => {
    const { line, lines, ended } = script(`
task = beaver.submit("write py_write")
tell(task_id=task.task_id)
for event in beaver.watch(task.task_id):
    if event.asked is not None:
        asked = event.asked
        tell(kind=asked.kind, tool=asked.tool, message=asked.message)
        beaver.approve(asked, arguments={"path": "py_other.txt", "content": "y"}, reason="better name")
        tell(again=failure(lambda: beaver.deny(asked)))
tell(status=beaver.result(task.task_id).status)
`)
    await line({ kind: 'approval' })
    expect(await ended).toMatchObject({ code: 0, err: '' })
    expect(lines.slice(1)).toEqual([
      { kind: 'approval', tool: 'write_file', message: 'py_write.txt' },
      { again: { code: 'conflict', status: 409, problems: [] } },
      { status: 'completed' },
    ])
    expect(readFileSync(`${scene.system.workspace}/py_other.txt`, 'utf8')).toBe('y')
  })

  it('denies a call and answers a question, once, and only with an answer that fits', async () => {
    expect(
      await ran(`
task = beaver.submit("write py_denied")
for event in beaver.watch(task.task_id):
    if event.asked is not None:
        beaver.deny(event.asked, reason="not this file")
tell(denied="not this file" in beaver.result(task.task_id).output)

task = beaver.submit('ask_user {"question":"Which branch?","options":["main","next"]}')
for event in beaver.watch(task.task_id):
    asked = event.asked
    if asked is not None:
        tell(kind=asked.kind, message=asked.message, options=asked.options)
        tell(unfit=failure(lambda: beaver.answer(asked, "old"))["status"])
        beaver.answer(asked, "next")
tell(output=beaver.result(task.task_id).output)
`),
    ).toEqual([
      { denied: true },
      { kind: 'question', message: 'Which branch?', options: ['main', 'next'] },
      { unfit: 400 },
      { output: 'So: next' },
    ])
  })

  it('gives nothing behind the end of a task', async () => {
    const [{ task_id, number }] = (await ran(`
task = beaver.submit("hello")
number = [event.number for event in beaver.watch(task.task_id)][-1]
tell(task_id=task.task_id, number=number)
`)) as [{ task_id: string; number: number }]
    expect(
      await ran(`tell(events=[event.type for event in beaver.watch("${task_id}", after=${number})])`),
    ).toEqual([{ events: [] }])
  })

  it('steers, cancels and lists tasks', async () => {
    const { line, lines, ended } = script(`
task = beaver.submit("wait py_never", title="py listed")
tell(task_id=task.task_id)
beaver.steer(task.task_id, "in German", idempotency_key="py-steer")
beaver.steer(task.task_id, "in German", idempotency_key="py-steer")
beaver.cancel(task.task_id, reason="no longer needed")
tell(status=beaver.result(task.task_id).status)
`)
    const { task_id } = await line({ status: 'cancelled' }).then(
      () => Object(lines[0]) as { task_id: string },
    )
    expect(await ended).toMatchObject({ code: 0, err: '' })
    const events = await scene.system.events(task_id)
    expect(only(events, 'task_steer_requested')).toHaveLength(1)
    const listed = `tell(tasks=[each["task_id"] for each in beaver.tasks(status=["cancelled"], text="py listed", limit=1)])`
    await until('the read model has the task', async () =>
      JSON.stringify(await ran(listed)).includes(task_id),
    )
  })

  it('is a small command, which shows no text of a model as commands of a terminal', async () => {
    const done = await program([file, 'submit', 'hello \u001B[2J\u202Eworld']).ended
    expect(done).toMatchObject({ code: 0, out: 'You said: hello [2Jworld\n' })
    const refused = await program([file, 'cancel', 'task_none']).ended
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toMatch(/^not_found: /)
    const failed = await program([file, 'submit', 'fail']).ended
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining('failed: ') as string])
    const asking = program([file, 'submit', 'ask_user {"question":"Which?","options":["a","b"]}'])
    const how = /python3 beaver\.py (answer \S+ \d+)/
    await until('the command to answer is shown', () => how.test(asking.text()))
    const [, words = ''] = how.exec(asking.text()) ?? []
    await until(
      'the read model has the question',
      async () => (await program([file, ...words.split(' '), 'b']).ended).code === 0,
    )
    expect(await asking.ended).toMatchObject({ code: 0, out: 'So: b\n' })
  })

  it('runs the program of the guide', async () => {
    const page = readFileSync(`${root}docs/how-to/use-http.md`, 'utf8')
    const [code = ''] = [...page.matchAll(/```python\n([^]*?)```/g)].map(([, text = '']) => text)
    expect(code).toContain('client.watch(')
    const { ended } = program(['-c', code.replace(/submit\("[^"]*"/, () => 'submit("write py_guide"')])
    expect(await ended).toMatchObject({ code: 0, err: '', out: expect.stringContaining('So: ') as string })
  })
})
