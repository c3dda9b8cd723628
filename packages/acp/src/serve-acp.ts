// Serves one editor over ACP on a pair of streams. The output carries only the protocol. The serving ends
// when the editor closes its stream, or when `close` is called. Tasks continue: an editor that restarts can
// load its sessions again.
import { Readable, Writable } from 'node:stream'
import {
  agent,
  type InitializeRequest,
  type InitializeResponse,
  MessageTooLargeError,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk'
import { BeaverError, type Clock, type ErrorCode, messageOf, systemClock, ulidIds } from '@beaver/core'
import { type AcpSettings, EditorSessions } from './editor-sessions.ts'
import type { EditorSystem } from './editor-system.ts'
import { Editor } from './editor.ts'

export interface AcpOptions {
  readonly input: Readable
  readonly output: Writable
  /** The version of Beaver, which the editor gets in the answer to `initialize`. */
  readonly version: string
  readonly settings?: AcpSettings
  /** Writes a line for a person, for messages that the editor does not show. */
  readonly log: (line: string) => void
  readonly clock?: Clock
}

export interface AcpServing {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
  /** Stops following all turns, whose tasks continue, and closes the connection. */
  close(): Promise<void>
}

/** Starts to serve the editor. */
export function serveAcp(
  system: EditorSystem,
  { input, output, version, settings = {}, log, clock = systemClock }: AcpOptions,
): AcpServing {
  const parts = { system, settings, clock, ids: ulidIds() }
  let ofEditor: { readonly editor: Editor; readonly sessions: EditorSessions } | null = null
  const here = (): { readonly editor: Editor; readonly sessions: EditorSessions } => {
    if (ofEditor === null) throw new Error('The connection is not open.')
    return ofEditor
  }
  const { session } = methods.agent
  const app = agent({ name: 'beaver' })
    .onConnect(({ client }) => {
      const editor = new Editor(client, log)
      ofEditor = { editor, sessions: new EditorSessions(parts, editor) }
    })
    .onRequest(methods.agent.initialize, ({ params }) => {
      here().editor.takesNotices = takesNotices(params)
      here().editor.takesForms = takesForms(params)
      return offered(version)
    })
    .onRequest(session.new, ({ params }) =>
      answered(async () => ({ sessionId: await here().sessions.create(params) })),
    )
    .onRequest(session.load, ({ params }) => answered(() => continued(params, true)))
    .onRequest(session.resume, ({ params }) => answered(() => continued(params, false)))
    .onRequest(session.list, ({ params }) => answered(() => here().sessions.list(params)))
    .onRequest(session.close, ({ params }) =>
      answered(async () => (here().sessions.close(params.sessionId), {})),
    )
    .onRequest(session.prompt, ({ params, signal }) =>
      answered(async () => here().sessions.prompt(params, signal)),
    )
    .onNotification(session.cancel, ({ params }) => here().sessions.cancel(params.sessionId))

  const continued = async (
    params: Parameters<EditorSessions['reopen']>[0],
    replay: boolean,
  ): Promise<object> => {
    await here().sessions.reopen(params, { replay })
    return {}
  }
  const stream = ndJsonStream(Writable.toWeb(output), Readable.toWeb(input) as ReadableStream<Uint8Array>)
  const connection = app.connect(stream)
  const closed = connection.closed.then(() => {
    const { reason } = connection.signal as { reason: unknown }
    if (reason instanceof MessageTooLargeError)
      log(
        `The editor sent a message of more than ${reason.maxMessageBytes / 1_048_576} MiB, so the connection was closed.`,
      )
  })
  return {
    closed,
    async close() {
      await ofEditor?.sessions.leave()
      connection.close()
    },
  }
}

const takesNotices = ({ clientCapabilities }: InitializeRequest): boolean => {
  const notices = clientCapabilities?.session?.notices
  return notices !== undefined && notices !== null
}

const takesForms = ({ clientCapabilities }: InitializeRequest): boolean => {
  const form = clientCapabilities?.elicitation?.form
  return form !== undefined && form !== null
}

const offered = (version: string): InitializeResponse => ({
  protocolVersion: PROTOCOL_VERSION,
  agentInfo: { name: 'beaver', title: 'Beaver', version },
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: false, audio: false, embeddedContext: false },
    mcpCapabilities: { http: false, sse: false },
    sessionCapabilities: { list: {}, resume: {}, close: {} },
  },
  authMethods: [],
})

async function answered<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  try {
    return await act()
  } catch (error) {
    throw acpError(error)
  }
}

// Turns errors into errors of ACP. An editor shows `message` to a person, so it is Beaver's own sentence.
// `data` has Beaver's code, for programs.

const invalidParams = -32_602
const internalError = -32_603
const resourceNotFound = -32_002

/** The codes of errors in the request. All other errors are those of the system. */
const faulty: ReadonlySet<ErrorCode> = new Set([
  'invalid_arguments',
  'workspace_missing',
  'workspace_refused',
  'unknown_skill',
  'unknown_profile',
  'unknown_workflow',
  'not_allowed',
  'conflict',
  'too_large',
])

function acpError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  if (!(error instanceof BeaverError))
    return new RequestError(internalError, `Beaver has a defect: ${messageOf(error)}`, { code: 'internal' })
  const { code, message, problems } = error
  const number = code === 'not_found' ? resourceNotFound : faulty.has(code) ? invalidParams : internalError
  return new RequestError(number, message, { code, ...(problems.length === 0 ? {} : { problems }) })
}
