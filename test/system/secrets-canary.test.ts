// Canaries: secrets are put wherever Beaver reads (the environment, the configuration, a file, an MCP server,
// a model, an error of its endpoint), agents work with them, and then every store, log, screen, message and
// request is searched for them.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '@beaver/testing'
import { expect, it, vi } from 'vitest'
import { placeIn } from '../support/cli.ts'
import { type FakeReply, refuse, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { keptCommands } from '../support/kept-system.ts'
import { testServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'
import { testSystem } from '../support/system.ts'

vi.setConfig({ testTimeout: 300_000 }) // many processes start

const random = (of: string): string => `${of}7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1h`
/** Known to the process by name, or only by their shape. */
const known = {
  OPENAI_API_KEY: `sk-canary-${random('aA0')}`,
  DEPLOY_TOKEN: `canary/${random('bB0')}+x=`,
  'mcp.stub.ECHO_TOKEN': random('cC0canary'),
}
const shaped = {
  aws_access_key: 'AKIACANARYCANARYCAN2',
  github_token: `ghp_${random('dD0')}`,
  stripe_key: `sk_live_${random('eE0')}`,
  private_key: `-----BEGIN RSA PRIVATE KEY-----\n${random('fF0')}\n${random('gG0')}\n-----END RSA PRIVATE KEY-----`,
  url_credentials: 'postgres://canary-admin:c4n4ry-pass@db.example/app',
}
const needles: readonly (readonly [string, string])[] = [
  ...Object.entries(known).flatMap(([name, value]) => [
    [name, value] as const,
    [`${name} in base64`, Buffer.from(value).toString('base64').slice(0, -4)] as const,
    [`${name} in hexadecimal digits`, Buffer.from(value).toString('hex')] as const,
    [`${name} in a URL`, encodeURIComponent(value)] as const,
  ]),
  ...Object.entries(shaped).map(
    ([name, value]) =>
      [
        name,
        name === 'private_key' ? random('fF0') : name === 'url_credentials' ? 'c4n4ry-pass' : value,
      ] as const,
  ),
]
const everything = [
  ...Object.values(known),
  ...Object.values(shaped),
  Buffer.from(`me:${known.OPENAI_API_KEY}`).toString('base64'),
].join(' and ')

const fixture = fileURLToPath(new URL('../../packages/mcp/test/fixture-server.ts', import.meta.url))
/** An answer in pieces of a few characters, so that each secret is split. */
function streamed(content: string): FakeReply {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: 'fake-model', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const pieces = content.match(/[\s\S]{1,7}/g) ?? []
  return {
    headers: { 'content-type': 'text/event-stream' },
    body: `${pieces.map((piece) => chunk({ content: piece })).join('')}${chunk({}, 'stop')}data: [DONE]\n\n`,
  }
}

/**
 * A model that reads all it can, and repeats it in arguments, in a file, in the memory and in its answers.
 */
function answer({ text, messages, stream }: SeenRequest): FakeReply {
  if (text.includes('refused'))
    return refuse(401, `Incorrect API key provided: ${known.OPENAI_API_KEY}. See ${shaped.url_credentials}.`)
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const turns = [
    use(
      ['run_command', { command: 'env' }],
      ['run_command', { command: 'cat', args: ['.env'] }],
      ['read_file', { path: '.env' }],
    ),
    use(
      ['stub_environment', {}],
      ['stub_changing', {}],
      ['read_file', { path: `missing-${known.DEPLOY_TOKEN}` }],
    ),
    use(
      ['echo', { text: everything }],
      ['write_file', { path: 'out.txt', content: everything }],
      ['no_such_tool', { key: everything }],
    ),
    use(['memory', { action: 'add', target: 'memory', content: `Remember ${everything}` }]),
  ]
  return turns[turn] ?? (stream ? streamed(`It is ${everything}.`) : say(`It is ${everything}.`))
}

it('keeps every canary out of every store, log, screen, message and request', async () => {
  const host = await keptCommands()
  await using server = await testServer()
  const folder = await mkdtemp(join(tmpdir(), 'beaver-canary-'))
  const stub = {
    command: process.execPath,
    args: [fixture],
    env: { FIXTURE_DIR: folder, ECHO_TOKEN: known['mcp.stub.ECHO_TOKEN'] },
    permission: 'allow',
  }
  await writeFile(join(folder, 'description'), `Changes something with ${known.OPENAI_API_KEY}.`)
  await using system = await testSystem(server, {
    mcp: { stub },
    run_command: { enabled: true },
    permissions: { rules: [{ tool: '*', decision: 'allow' }] },
  })
  await writeFile(
    join(system.workspace, '.env'),
    [...Object.entries(known).map(([name, value]) => `${name}=${value}`), ...Object.values(shaped)].join(
      '\n',
    ),
  )
  await using projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  const heard: string[] = []
  const listening = system.nc.subscribe(`beaver.${system.subjects.namespace}.>`, {
    callback: (_, message) => void heard.push(`${message.subject} ${message.string()}`),
  })
  const daemon = await system.daemon({
    OPENAI_API_KEY: known.OPENAI_API_KEY,
    DEPLOY_TOKEN: known.DEPLOY_TOKEN,
    BEAVER_LOG: 'debug',
  })
  await until('the tools are offered', async () => {
    system.provider.answerBy(() => say('ready'))
    await system.ended((await system.client.submit({ task: 'look' })).task_id)
    return system.provider.requests.at(-1)?.tools.includes('stub_environment')
  })
  system.provider.answerBy(answer)

  const read = (
    await system.client.submit({ task: `Read all. ${known.DEPLOY_TOKEN}`, task_id: 'read', stream: true })
  ).task_id
  const refused = (await system.client.submit({ task: 'Be refused.', task_id: 'refused' })).task_id
  const agents = ['one', 'two'].map((name) => ({
    name,
    instruction: `You are ${name} with ${shaped.stripe_key}.`,
  }))
  const team = (
    await system.client.submit({
      task_id: 'team',
      workflow: {
        name: 'SequentialWorkflow',
        arguments: { task: `Do it with ${known.OPENAI_API_KEY}`, agents },
      },
    })
  ).task_id
  const events = await Promise.all([read, refused, team].map((task) => system.ended(task, 60_000)))
  expect(events.map((each) => each.at(-1)?.type)).toEqual(['task_completed', 'task_failed', 'task_completed'])
  await until(
    'the projector has all',
    async () =>
      ((seen) => seen['failed'] === 1 && (seen['completed'] ?? 0) >= 3 && Object.keys(seen).length === 2)(
        (await system.client.query('status')).by_status,
      ),
    { everyMs: 50 },
  )

  const beaver = async (...args: readonly string[]): Promise<string> => {
    const { out, err } = await host.run(args, placeIn(server, system, { BEAVER_HOME: projector.home }))
    return out + err
  }
  const places = new Map<string, string>()
  for (const task of [read, refused, team])
    for (const command of ['show', 'timeline', 'events']) {
      places.set(`beaver ${command} ${task}`, await beaver(command, task))
      places.set(`beaver ${command} --json ${task}`, await beaver(command, '--json', task))
    }
  places.set('beaver export', await beaver('export'))
  places.set('beaver search secret', await beaver('search', 'secret'))
  places.set('beaver status', await beaver('status'))
  places.set("the daemon's log", daemon.stderr)
  places.set("the projector's log", projector.stderr)
  places.set('the read model (rows, full-text index and WAL)', await bytesBelow(projector.home))
  places.set(
    "the server's files (journal, blobs, memory, consumers)",
    (await server.stored()).toString('latin1'),
  )
  places.set(
    'requests to the model (messages and tools)',
    system.provider.requests.map(({ body }) => body).join('\n'),
  )
  places.set('a file that an agent wrote', await readFile(join(system.workspace, 'out.txt'), 'latin1'))
  const published = heard.filter(
    (line) => !/^\S+\.(?:task|submit|_INBOX)\S* /.test(line) || line.includes('.live.'),
  )
  places.set('messages on the subjects of the namespace', published.join('\n'))
  listening.unsubscribe()
  await rm(folder, { recursive: true })

  const found = [...places].flatMap(([place, text]) =>
    needles.filter(([, needle]) => text.includes(needle)).map(([name]) => `${name} in ${place}`),
  )
  for (const [place, text] of places)
    process.stdout.write(
      `canary: searched ${place}: ${text.length} characters, ${text.split('[secret:').length - 1} marks, ${needles.length} needles\n`,
    )
  process.stdout.write(`canary: ${found.length} occurrences\n`)
  expect(found).toEqual([])
  // The search sees what it should: each place has the marks in plain text.
  for (const [place, text] of places)
    if (!/status|log$|refused/.test(place)) expect([place, text.includes('[secret:')]).toEqual([place, true])
  for (const name of [...Object.keys(known), ...Object.keys(shaped)])
    expect([
      name,
      places.get("the server's files (journal, blobs, memory, consumers)")?.includes(`[secret:${name}]`),
    ]).toEqual([name, true])
})

async function bytesBelow(folder: string): Promise<string> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) =>
    each.isFile(),
  )
  return Buffer.concat(
    await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name)))),
  ).toString('latin1')
}
