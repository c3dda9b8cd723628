// An editor: the client of the official SDK, with `beaver acp` as its child.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import {
  client,
  type ClientContext,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { cliEntry, cliEnvironment, type CliPlace, placeIn } from './cli.ts'
import { keep } from './leftovers.ts'
import type { TestServer } from './nats.ts'
import type { TestSystem } from './system.ts'

export type Answer = RequestPermissionResponse['outcome']

export interface EditorProcess extends AsyncDisposable {
  readonly agent: ClientContext
  readonly child: ChildProcessWithoutNullStreams
  /** Everything that it was told, in order. */
  readonly told: readonly SessionNotification[]
  readonly asked: readonly RequestPermissionRequest[]
  readonly forms: readonly CreateElicitationRequest[]
  /** What `beaver acp` printed on standard error so far. */
  readonly err: string
  /** What it printed on standard output so far. */
  readonly out: string
  readonly exited: Promise<number | null>
  /** From now on questions are answered by this. Default: never. */
  answerBy(answer: (request: RequestPermissionRequest, signal: AbortSignal) => Promise<Answer>): void
  /** From now on forms are filled in by this. Default: never. */
  fillBy(
    fill: (request: CreateElicitationRequest, signal: AbortSignal) => Promise<CreateElicitationResponse>,
  ): void
  /**
   * The updates of the session that `session` began last, or of the one that `look` named. Before that, those
   * of all.
   */
  updates<Kind extends SessionUpdate['sessionUpdate']>(
    kind: Kind,
  ): Extract<SessionUpdate, { sessionUpdate: Kind }>[]
  /** The texts of the agent's messages, one after the other. */
  said(): string
  /** Keeps nothing of what it was told and asked so far, and answers nothing: for tests that share it. */
  forget(): void
  /** From now on its updates are those of this session. */
  look(sessionId: string): void
  /** Starts a session in a folder. */
  session(cwd: string): Promise<string>
  prompt(sessionId: string, text: string): Promise<string>
}

export const chosen = (optionId: string): Answer => ({ outcome: 'selected', optionId })

/** @param options `forms`: whether it shows forms. Default: no */
export async function editor(
  { cwd, env }: CliPlace,
  args: readonly string[] = [],
  { forms: takesForms = false }: { readonly forms?: boolean } = {},
): Promise<EditorProcess> {
  const child = spawn(process.execPath, [cliEntry, 'acp', ...args], {
    cwd,
    env: cliEnvironment(env),
    stdio: 'pipe',
  })
  const said = { out: '', err: '' }
  child.stdout.on('data', (bytes: Buffer) => (said.out += bytes.toString()))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text))
  child.stdin.on('error', () => {})
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const told: SessionNotification[] = []
  const asked: RequestPermissionRequest[] = []
  const forms: CreateElicitationRequest[] = []
  const never = (): Promise<never> => new Promise(() => {})
  let fill: Parameters<EditorProcess['fillBy']>[0] = never
  let answer: Parameters<EditorProcess['answerBy']>[0] = never
  let session: string | null = null
  const connection = client({ name: 'test' })
    .onNotification(methods.client.session.update, ({ params }) => void told.push(params))
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params)
      return { outcome: await answer(params, signal) }
    })
    .onRequest(methods.client.elicitation.create, async ({ params, signal }) => {
      forms.push(params)
      return fill(params, signal)
    })
    .connect(
      ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>),
    )
  const { agent } = connection
  await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { session: { notices: {} }, ...(takesForms ? { elicitation: { form: {} } } : {}) },
  })
  const updates: EditorProcess['updates'] = (kind) =>
    told.flatMap(({ sessionId, update }) =>
      update.sessionUpdate === kind && (session === null || sessionId === session)
        ? [update as Extract<SessionUpdate, { sessionUpdate: typeof kind }>]
        : [],
    )
  return {
    agent,
    child,
    told,
    asked,
    forms,
    fillBy: (given) => void (fill = given),
    get err() {
      return said.err
    },
    get out() {
      return said.out
    },
    exited,
    answerBy: (given) => void (answer = given),
    updates,
    said: () =>
      updates('agent_message_chunk')
        .map(({ content }) => (content.type === 'text' ? content.text : ''))
        .join(''),
    forget() {
      for (const all of [told, asked, forms]) all.length = 0
      fill = answer = never
      session = null
    },
    look: (id) => void (session = id),
    session: async (folder) =>
      (session = (await agent.request(methods.agent.session.new, { cwd: folder, mcpServers: [] })).sessionId),
    prompt: async (sessionId, text) =>
      (await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }))
        .stopReason,
    async [Symbol.asyncDispose]() {
      connection.close()
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** The code and the message of an error of JSON-RPC. */
export const refusal = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    (answer) => `answered: ${JSON.stringify(answer)}`,
    (error: { code?: number; message?: string }) => `${error.code} ${error.message}`,
  )

/** The tasks of a session, oldest first. */
export const tasksOf = async (system: TestSystem, session: string): Promise<readonly string[]> => {
  const tasks = new Set<string>()
  for await (const event of system.client.sessions.getEventRecords(session)) tasks.add(event.task_id)
  return [...tasks]
}

/** An editor of ben, beside a system of the test. */
export const editorOf = (
  server: TestServer,
  system: TestSystem,
  args: readonly string[] = [],
  env: Record<string, string> = {},
  options: { readonly forms?: boolean } = {},
): Promise<EditorProcess> =>
  editor(
    placeIn(server, system, { BEAVER_CALLER: 'ben', BEAVER_HOME: join(system.workspace, 'home'), ...env }),
    args,
    options,
  )

/** An editor of ben beside the kept scene, one for each worker. It remembers nothing of what came before. */
export async function keptEditor({
  server,
  system,
}: {
  readonly server: TestServer
  readonly system: TestSystem
}): Promise<EditorProcess> {
  const me = await keep('editor', () => editorOf(server, system))
  me.forget()
  return me
}
