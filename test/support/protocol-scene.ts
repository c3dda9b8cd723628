// What the tests of the protocols for agents share: a gateway on a real port in front of a real daemon and a
// real projector, an agent that answers by what it is asked, and tokens of several people.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Gateway, startGateway, tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { loadConfig } from '@beaver/platform'
import { held } from '@beaver/testing'
import { type FakeReply, type SeenRequest, say, use } from './fake-provider.ts'
import { keep } from './leftovers.ts'
import { testServer, type TestServer } from './nats.ts'
import { projectorProcess, type ProjectorProcess, type ProjectorWanted } from './projector.ts'
import { testSystem, type TestSystem } from './system.ts'

export interface ProtocolScene extends AsyncDisposable {
  readonly server: TestServer
  readonly system: TestSystem
  readonly gateway: Gateway
  /** The home of the gateways, with their tokens. */
  readonly home: string
  /** The folder with the read model. */
  readonly projectorHome: string
  /** admin: everything. ann, bob: submit, read and approve for one user. writer: submit. reader: read. */
  readonly tokens: Readonly<Record<'admin' | 'ann' | 'bob' | 'writer' | 'reader', string>>
  /**
   * Lets the task "wait <name>" answer, and what else waits for this gate. Each name is a gate of its own.
   */
  answer(name: string, reply: FakeReply): void
  /** Another gateway of the same home. */
  start(over?: object, options?: Parameters<typeof startGateway>[2]): Promise<Gateway>
  /** From now on the model answers as at the start, and nothing of what it was asked is kept. */
  again(): void
}

/**
 * The scene of the system tests: one for each worker, which other files use before and after. A file has
 * tasks, threads, contexts and gates with names of its own, and says nothing of all tasks.
 */
export async function keptScene(): Promise<ProtocolScene> {
  const scene = await keep('protocol scene', () =>
    protocolScene({ tools: [fileURLToPath(new URL('bad-tools.ts', import.meta.url))] }),
  )
  scene.again()
  return scene
}

/**
 * A scene in which the second call of a model in a task has no place in its budget. Of the profile `clerk` the
 * first one has none in a budget that tasks share, and a task of `counter` ends there. Several files use it, as
 * the kept scene.
 */
export async function budgetedScene(): Promise<ProtocolScene> {
  const budgets = [
    { of: 'task', model_calls: 1 },
    { of: 'profile', name: 'clerk', per: 'day', model_calls: 0 },
    { of: 'profile', name: 'counter', per: 'day', model_calls: 0, exceeded: 'end' },
  ]
  const scene = await keep('budgeted protocol scene', () => protocolScene({ config: { budgets } }))
  scene.again()
  return scene
}

/** An answer in pieces. */
function pieces(...texts: readonly string[]): FakeReply {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: 'fake-model', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const body = `${texts.map((content) => chunk({ content })).join('')}${chunk({}, 'stop')}data: [DONE]\n\n`
  return { headers: { 'content-type': 'text/event-stream' }, body }
}

function scripted(
  gateOf: (name: string) => Promise<FakeReply>,
): (request: SeenRequest) => FakeReply | Promise<FakeReply> {
  return ({ text, results, messages }) => {
    const gate = /^(?:say and )?wait ?(\w*)$/.exec(text)?.[1]
    if (gate !== undefined) return gateOf(gate)
    const within = /^wait for the gate (\w+)$/m.exec(text)?.[1]
    if (within !== undefined) return gateOf(within)
    const later = /^look and wait (\w+)$/.exec(text)?.[1]
    if (later !== undefined)
      return results.length === 0 ? sayAndUse('I look.', ['list_files', { path: '.' }]) : gateOf(later)
    if (text === 'pieces') return pieces('Word ', 'by ', 'word.')
    if (text === 'look')
      return results.length === 0 ? use(['list_files', { path: '.' }]) : say('There are files.')
    if (text === 'say and look')
      return results.length === 0
        ? sayAndUse('I look.', ['list_files', { path: '.' }])
        : say('There are files.')
    if (text.startsWith('write'))
      return results.length === 0
        ? use(['write_file', { path: `${text.slice(6)}.txt`, content: 'x' }])
        : say(`So: ${results.at(-1) ?? ''}`)
    const [, tool = '', args = ''] =
      /^(ask_user|ask_json|deploy|sign_up|echo|patient) (\{.*\})$/s.exec(text) ?? []
    if (tool === 'ask_json')
      return results.length === 0
        ? use(['ask_user', JSON.parse(args)])
        : say(JSON.stringify({ said: results.at(-1) }))
    if (tool !== '')
      return results.length === 0 ? use([tool, JSON.parse(args)]) : say(`So: ${results.at(-1) ?? ''}`)
    if (text === 'fail')
      return {
        status: 400,
        body: JSON.stringify({
          error: { message: 'no such model', type: 'invalid_request_error', code: null },
        }),
      }
    if (text.includes('Count: ')) return say('```json\n{"total": 3}\n```')
    if (text === 'json') return say('```json\n{"total": 3}\n```')
    if (text === 'all')
      return say(
        messages
          .map(({ role, content }) => `${role}: ${content}`)
          .filter((line) => !line.startsWith('system'))
          .join(' | '),
      )
    if (text === 'system') return say(messages[0]?.content ?? '')
    return say(`You said: ${text.slice(0, 500)}`)
  }
}

/** An answer that says something and calls a tool. */
function sayAndUse(content: string, [name, args]: readonly [string, unknown]): FakeReply {
  const call = { id: 'call_0', type: 'function', function: { name, arguments: JSON.stringify(args) } }
  const message = { role: 'assistant', content, tool_calls: [call] }
  return {
    body: JSON.stringify({
      id: 'r',
      object: 'chat.completion',
      model: 'fake-model',
      choices: [{ index: 0, finish_reason: 'tool_calls', message }],
    }),
  }
}

async function files(workspace: string): Promise<void> {
  await writeFile(
    join(workspace, 'clerk.json'),
    JSON.stringify({ name: 'clerk', system_prompt: 'You are the clerk.' }),
  )
  const total = { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] }
  await writeFile(join(workspace, 'counter.json'), JSON.stringify({ name: 'counter', output_schema: total }))
  await mkdir(join(workspace, 'workflows'))
  const input = { dataFlowType: 'STRING', required: true }
  const sumUp = (inputs: object): string =>
    JSON.stringify({
      description: 'Sums up.',
      interfaceInputs: inputs,
      interfaceOutputs: { summary: { dataFlowType: 'STRING' } },
      nodes: [{ id: 'summary', kind: 'agent', instruction: 'Sum up: {{ inputs.text }}' }],
    })
  await writeFile(join(workspace, 'workflows', 'sum_up.json'), sumUp({ text: input }))
  await writeFile(join(workspace, 'workflows', 'two.json'), sumUp({ text: input, tone: input }))
  const count = {
    description: 'Counts.',
    interfaceInputs: { text: input },
    interfaceOutputs: { count: { dataFlowType: 'OBJECT' } },
    nodes: [{ id: 'count', kind: 'agent', instruction: 'Count: {{ inputs.text }}', outputSchema: total }],
  }
  await writeFile(join(workspace, 'workflows', 'count.json'), JSON.stringify(count))
}

async function tokensOf(home: string): Promise<ProtocolScene['tokens']> {
  const store = new TokenStore(tokensFile(home))
  const now = new Date()
  return {
    admin: await store.create('admin', { roles: ['admin'], now }),
    ann: await store.create('ann', { roles: ['submit', 'read', 'approve'], userId: 'ann', now }),
    bob: await store.create('bob', { roles: ['submit', 'read', 'approve'], userId: 'bob', now }),
    writer: await store.create('writer', { roles: ['submit'], now }),
    reader: await store.create('reader', { roles: ['read'], now }),
  }
}

/** What a scene has beside what every scene has. */
export interface SceneMore {
  readonly config?: Readonly<Record<string, unknown>>
  /** Modules of tools. */
  readonly tools?: readonly string[]
  /** Runs before the daemon starts. */
  prepare?(workspace: string): Promise<unknown>
  /** What its projector has beside the defaults. */
  projector?(workspace: string): Pick<ProjectorWanted, 'env' | 'config'>
  /** Answers a request of a model. `undefined`: the scene answers. */
  answer?(request: SeenRequest): FakeReply | Promise<FakeReply> | undefined
}

export async function protocolScene(more: SceneMore = {}): Promise<ProtocolScene> {
  const server = await testServer()
  const system = await testSystem(server, {
    profiles: ['clerk.json', 'counter.json'],
    workflows: ['workflows'],
    tools: [fileURLToPath(new URL('asking-tools.ts', import.meta.url)), ...(more.tools ?? [])],
    permissions: {
      rules: [
        { tool: 'write_file', decision: 'ask' },
        { tool: 'echo', pattern: '*forbidden*', decision: 'deny' },
        { tool: 'echo', pattern: '*careful*', decision: 'ask' },
      ],
    },
    ...more.config,
  })
  await files(system.workspace)
  await more.prepare?.(system.workspace)
  const gates = new Map<string, ReturnType<typeof held<FakeReply>>>()
  const gate = (name: string): ReturnType<typeof held<FakeReply>> => {
    const there = gates.get(name) ?? held<FakeReply>()
    gates.set(name, there)
    return there
  }
  const script = scripted((name) => gate(name).promise)
  const again = (): void => {
    system.provider.forget()
    system.provider.answerBy((request) => {
      const answered = more.answer?.(request)
      return answered === undefined ? script(request) : answered
    })
  }
  again()
  await system.daemon()
  const projector: ProjectorProcess = await projectorProcess({
    url: server.url,
    namespace: system.subjects.namespace,
    ...more.projector?.(system.workspace),
  })
  const home = join(system.workspace, '.beaver')
  const tokens = await tokensOf(home)
  const config = loadConfig({ home }, {}, system.workspace)
  const start: ProtocolScene['start'] = (over, options) => {
    const settings = { ...config.gateway, port: 0, requests_per_second_max: 1_000, ...over }
    return startGateway(
      { ...config, namespace: system.subjects.namespace, gateway: settings },
      { url: server.url, login: {} },
      options,
    )
  }
  const gateway = await start()
  return {
    server,
    system,
    gateway,
    home,
    projectorHome: projector.home,
    tokens,
    start,
    again,
    answer: (name, reply) => gate(name).settle(reply),
    async [Symbol.asyncDispose]() {
      await gateway.stop()
      await projector[Symbol.asyncDispose]()
      await system[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}
