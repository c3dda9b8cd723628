// `pnpm conformance:models` as a child process: against a fake provider that others wrote, against the
// simulated model, and against servers that are wrong.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { simulatedModelName, startSimulatedModelProcess } from '@beaver/simulated-model'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { compileCache } from '../support/compile-cache.ts'
import { fakeProvider, type FakeReply, refuse, type SeenRequest, use } from '../support/fake-provider.ts'
import { standInMock } from '../support/stand-in-mock.ts'

const script = fileURLToPath(new URL('../../scripts/models-conformance.ts', import.meta.url))
const key = 'sk-pl4nted-key-0123456789'
let folder: string
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'beaver-models-'))))
afterAll(() => rmSync(folder, { recursive: true }))

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function asked(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const options = { env: { PATH: process.env['PATH'] ?? '', ...compileCache, ...env }, timeout: 60_000 }
  return new Promise((resolve) =>
    execFile(process.execPath, [script, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    ),
  )
}

interface Told {
  readonly ok: boolean
  readonly failure: string | null
  readonly requests: number
  readonly probes: readonly { readonly name: string; readonly result: string; readonly seen: string }[]
}
const told = ({ stdout }: Ran): Told => JSON.parse(stdout) as Told

it.each([
  ['chat_completions', []],
  // aimock says `incomplete` and leaves out why.
  ['responses', ['bound of an answer']],
])('aimock has everything that a team needs, by %s', async (protocol, failed) => {
  const mock = standInMock()
  await mock.start()
  try {
    const ran = told(await asked(['--base-url', `${mock.url}/v1`, '--protocol', protocol, '--json']))
    expect(
      ran.probes.flatMap(({ name, result }) => (result === 'passed' ? [] : [`${name}: ${result}`])),
    ).toEqual(failed.map((name) => `${name}: failed`))
    expect([ran.ok, ran.probes.length, ran.requests]).toEqual([failed.length === 0, 13, 11])
  } finally {
    await mock.stop()
  }
})

it('the simulated model has what a team needs, and the table says in 80 columns what it does not have', async () => {
  await using stop = new AsyncDisposableStack()
  const model = await startSimulatedModelProcess()
  stop.defer(() => model.close())
  const file = join(folder, 'simulated.json')
  const { code, stdout } = await asked([
    '--base-url',
    `${model.url}/v1`,
    '--model',
    simulatedModelName,
    '--name',
    'Simulated model',
    '--stand-in',
    '--write',
    file,
  ])
  const lines = stdout.split('\n')
  expect(lines.filter((line) => !line.startsWith('What the server said is in') && line.length > 80)).toEqual(
    [],
  )
  expect(
    lines.flatMap(
      (line) =>
        /^([a-z ]+?)(?: \*)? {2,}(passed|FAILED|not supported|not seen)(?: |$)/
          .exec(line)
          ?.slice(1, 3)
          .join(': ') ?? [],
    ),
  ).toEqual([
    'plain answer: passed',
    'streamed answer: passed',
    'usage: passed',
    'usage of a stream: passed',
    'tool call: passed',
    'parallel calls: passed',
    'results of tools: passed',
    'streamed calls: passed',
    'structured answer: not supported',
    'image: not supported',
    'bound of an answer: not supported',
    'unknown model: passed',
    'overflow: not seen',
  ])
  expect(code).toBe(0)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    name: 'Simulated model',
    stand_in: true,
    model: simulatedModelName,
  })
})

/** A server that does everything wrong that a judgement looks for. */
function wrong({ body, results, tools, stream }: SeenRequest): FakeReply {
  const says = (content: string, over: object = {}): FakeReply => ({
    body: JSON.stringify({
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
      ...over,
    }),
  })
  if (body.includes('beaver-no-such-model')) return refuse(500, 'broken')
  if (body.length > 20_000) return refuse(400, 'You may not say this.')
  if (/image_url|json_schema|json_object/.test(body)) return refuse(503, 'busy')
  if (body.includes('from 1 to 200'))
    return says('1 2 3', { usage: { prompt_tokens: 9, completion_tokens: 16 } })
  if (tools.length === 0)
    return says('no', { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } })
  if (stream) return use(['get_weather', { city: 'Oslo' }], ['get_weather', { city: 'Oslo' }])
  if (results.length > 0 || body.includes('two calls')) return use(['get_weather', { city: 'Rome' }])
  return says('It is sunny.')
}

it('each judgement fails for a server that is wrong in it', async () => {
  await using server = await fakeProvider()
  server.answerBy(wrong)
  const ran = await asked(['--base-url', server.url, '--model', 'm', '--json'])
  expect(ran.code).toBe(1)
  const { ok, probes } = told(ran)
  expect(ok).toBe(false)
  expect(probes.filter(({ result }) => result !== 'failed')).toEqual([])
  expect(probes).toHaveLength(13)
})

it('a server that does not answer gets one sentence, and no file', async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => closed.once('listening', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const file = join(folder, 'none.json')
  const ran = await asked([
    '--base-url',
    `http://127.0.0.1:${port}/v1`,
    '--model',
    'm',
    '--name',
    'none',
    '--write',
    file,
  ])
  expect([ran.code, ran.stdout]).toEqual([1, ''])
  expect(ran.stderr).toMatch(
    /^The endpoint 127\.0\.0\.1:\d+ cannot be reached: .*Check that it runs and that the base URL is right\.\n$/,
  )
  expect(() => readFileSync(file)).toThrow('ENOENT')
})

it('a server that says nothing ends with the time of the run', async () => {
  await using server = await fakeProvider()
  server.answerBy(() => null)
  const ran = await asked(['--base-url', server.url, '--model', 'm', '--timeout-ms', '500'])
  expect(ran).toEqual({
    code: 1,
    stdout: '',
    stderr: 'The server did not answer: the run ended, because the 500 ms of --timeout-ms are over.\n',
  })
})

it('the key goes to the server, and neither into the output nor into the file', async () => {
  await using server = await fakeProvider()
  server.answerBy(({ headers, body }) => {
    const echoed = {
      asked_by: headers['authorization'],
      user_id: 'user_2aB3cD4eF5gH',
      organization: 'org-1a2B3c4D5e6F',
    }
    if (body.includes('beaver-no-such-model'))
      return refuse(
        404,
        `no model for ${headers['authorization']} of org-1a2B3c4D5e6F, ask admin@corp.example`,
      )
    return {
      headers: {
        'set-cookie': 'session=c00kie-of-the-server',
        'openai-organization': 'org-1a2B3c4D5e6F',
        'x-request-id': 'req_1234567890',
      },
      body: JSON.stringify({
        ...echoed,
        choices: [
          { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: `ready ${key}` } },
        ],
      }),
    }
  })
  const file = join(folder, 'secrets.json')
  const args = [
    '--base-url',
    server.url,
    '--model',
    'm',
    '--key-env',
    'PLANTED_KEY',
    '--name',
    'echo',
    '--write',
    file,
  ]
  const ran = await asked(args, { PLANTED_KEY: key })
  expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${key}`)
  const written = readFileSync(file, 'utf8')
  expect(written).toContain('[secret:PLANTED_KEY]')
  for (const secret of [
    key,
    'user_2aB3cD4eF5gH',
    'org-1a2B3c4D5e6F',
    'c00kie-of-the-server',
    'req_1234567890',
    'admin@corp.example',
    new URL(server.url).host,
  ])
    expect(written).not.toContain(secret)
  expect(`${ran.stdout}${ran.stderr}`).not.toContain(key)
})

it.each([
  [['--speed', 'high'], /--speed/],
  [['--key-env', key], /name of a variable/],
  [['--write', 'x.json', '--base-url', 'http://127.0.0.1:9/v1'], /needs --name/],
  [[], /which server is asked/],
])('%j is wrong usage', async (args, says) => {
  const { code, stdout, stderr } = await asked(args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(says)
  expect(stderr).not.toContain(key)
})
