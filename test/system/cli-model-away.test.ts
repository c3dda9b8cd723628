// `beaver run` with a model that cannot be asked: a person reads the whole reason soon, and what to do. With
// --check-model the command ends by itself.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer as httpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { expect, it, onTestFinished } from 'vitest'
import { type CliPlace, runBeaver, startBeaver } from '../support/cli.ts'

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return (server.address() as AddressInfo).port
}

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await portOf(server)
  await new Promise((closed) => server.close(closed))
  return port
}

/** Connects, and never answers. */
async function silentPort(): Promise<number> {
  const sockets: { destroy(): void }[] = []
  const server = createServer((socket) => sockets.push(socket.on('error', () => {})))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return portOf(server)
}

const refusingPort = (): Promise<number> =>
  answeringPort(401, '{"error":{"message":"Incorrect API key provided."}}')

async function answeringPort(status: number, body: string): Promise<number> {
  const server = httpServer((request, response) => {
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  onTestFinished(() => void server.close())
  return portOf(server)
}

function placeOf(baseUrl: string): CliPlace & { readonly home: string } {
  const cwd = mkdtempSync(join(tmpdir(), 'beaver-model-away-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const home = join(cwd, 'home')
  return { cwd, home, env: { BEAVER_HOME: home, OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'x' } }
}

const local = (port: number): string => `http://127.0.0.1:${port}/v1`

it.each<[string, () => Promise<string>, string | RegExp]>([
  [
    'refuses the connection',
    async () => local(await closedPort()),
    'it cannot be reached (ECONNREFUSED). Check OPENAI_BASE_URL',
  ],
  [
    'has a name that does not resolve',
    async () => 'http://no-such-host.invalid/v1',
    /it cannot be reached \((ENOTFOUND|EAI_AGAIN)\)\. Check OPENAI_BASE_URL/,
  ],
  [
    'never answers',
    async () => local(await silentPort()),
    'it cannot be reached (no answer within 3 s). Check OPENAI_BASE_URL',
  ],
  [
    'fails',
    async () => local(await answeringPort(500, '{}')),
    'it answers with HTTP 500. The endpoint has a fault.',
  ],
  [
    'has another name',
    async () => local(await answeringPort(404, '{}')),
    'it does not have the model or the path (HTTP 404). Check the name of the model',
  ],
  [
    'is a page',
    async () => local(await answeringPort(200, '<!doctype html>')),
    'its answer is not JSON (HTTP 200). Check the name of the model',
  ],
  [
    'refuses the key',
    async () => local(await refusingPort()),
    'it refuses the key (HTTP 401). Set OPENAI_API_KEY to a valid key',
  ],
])('run --check-model ends before anything starts if the model %s', async (_, urlOf, reason) => {
  const place = placeOf(await urlOf())
  const { exit, out, err } = await runBeaver(['run', '--up', '--check-model', 'Say hello'], place)
  expect({ exit, out }).toEqual({ exit: 3, out: '' })
  expect(err).toMatch(reason)
  expect(err).toMatch(/beaver doctor\n$/)
  expect(existsSync(join(place.home, 'nats'))).toBe(false)
})

it.each([
  // The third failed call says it, or a look at the endpoint: whichever is first.
  [
    'refuses the connection',
    closedPort,
    /connect ECONNREFUSED 127\.0\.0\.1:(\d+)\. Check that it runs and that the base URL is right\.\n|gpt-5-mini at 127\.0\.0\.1:(\d+), key set: it cannot be reached \(ECONNREFUSED\)\n/,
  ],
  [
    'never answers',
    silentPort,
    /gpt-5-mini at 127\.0\.0\.1:(\d+), key set: it cannot be reached \(no answer within 3 s\)\n/,
  ],
] as const)(
  'run waits for a model that %s, and says once, whole, why, and how to stop',
  async (_, portNow, reason) => {
    const port = await portNow()
    await using running = startBeaver(['run', '--up', 'Say hello'], placeOf(local(port)))
    await until('it says how to stop', () =>
      running.err.includes('Ctrl-C cancels the task and stops the system. Find out what is wrong: '),
    )
    expect(reason.exec(running.err)?.slice(1)).toContain(String(port))
    running.kill('SIGINT')
    const { exit, err } = await running.ended
    expect(exit).toBe(130)
    expect(err.split('The model cannot be asked now: ')).toHaveLength(2)
  },
)

it('run says what looks at the configuration when a refusal of the model ended the task', async () => {
  const { exit, out } = await runBeaver(['run', '--up', 'Say hello'], placeOf(local(await refusingPort())))
  expect(exit).toBe(1)
  expect(out).toMatch(
    /Why: .*refused the API key: check OPENAI_API_KEY \(HTTP 401\).*\nFind out what is wrong with the model: .*beaver doctor\n/,
  )
})
