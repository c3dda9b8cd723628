// The sessions of one editor. A session of ACP is a session of Beaver, and a prompt is a task in it.
// - A session runs one prompt at a time, and refuses a second one.
// - If a question was shown as text, the next prompt answers it instead of beginning a task.
// - The journal keeps the sessions. This file holds only what the connection needs, so an editor that
//   restarts loads its sessions again.
// - Each request connects to the system anew, because the system may have started or restarted since the last
//   request.
import { stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type ContentBlock,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type NewSessionRequest,
  type PromptRequest,
  type PromptResponse,
  RequestError,
  type ResumeSessionRequest,
  type SessionInfo,
  type StopReason,
} from '@agentclientprotocol/sdk'
import { BeaverError, type Clock, type Ids, messageOf, pause } from '@beaver/core'
import { answerInText } from '@beaver/core/question'
import { askingCall, type TaskViewEnd } from '@beaver/core/task-view'
import type { EditorSystem, SystemLink } from './editor-system.ts'
import type { Editor } from './editor.ts'
import { endUpdates, readPastSession } from './past-session.ts'
import { agentText } from './turn-updates.ts'
import { type AskingTask, newTask, type ReadTask, Turn } from './turn.ts'

/** What applies to all sessions of an editor. */
export interface AcpSettings {
  /** The user of the tasks and the sessions. Default: none. */
  readonly userId?: string | undefined
  /** The profile of the root agent. Default: the daemon's default profile. */
  readonly profile?: string | undefined
  /** The time zone in which agents get the date, such as `Europe/Zurich`. Default: UTC. */
  readonly timeZone?: string | undefined
}

export interface SessionsParts {
  readonly system: EditorSystem
  readonly settings: AcpSettings
  readonly clock: Clock
  readonly ids: Ids
}

interface Session {
  readonly id: string
  workspace: string
  prompted: boolean
  /** The task whose question the next prompt answers. */
  asks: AskingTask | null
  /**
   * The turns under way: the current prompt, and tasks that were already running when the session was loaded.
   */
  readonly turns: Set<Turn>
}

/** How many turns may be under way in all sessions together. */
const turnsMax = 100
const leaveMsMax = 2_000
const invalidRequest = -32_600
const requestCancelled = -32_800

/** The stop reasons of ACP, by the class of the failure. */
const stopReasons: Readonly<Record<string, StopReason>> = {
  refusal: 'refusal',
  output_truncated: 'max_tokens',
  iterations_exhausted: 'max_turn_requests',
}

/** The sessions that one connection has open. */
export class EditorSessions {
  readonly #parts: SessionsParts
  readonly #editor: Editor
  readonly #sessions = new Map<string, Session>()
  readonly #over = new AbortController()
  readonly #working = new Set<Promise<unknown>>()
  #turns = 0

  constructor(parts: SessionsParts, editor: Editor) {
    this.#parts = parts
    this.#editor = editor
  }

  /**
   * Makes a session.
   *
   * @returns its id
   * @throws {RequestError} invalid params; {BeaverError} `workspace_missing`, `unreachable`, `no_daemon`
   */
  async create(request: NewSessionRequest): Promise<string> {
    await mustBeWorkspace(request)
    await using link = await this.#parts.system.open()
    await link.client.status()
    const id = this.#parts.ids.next('session')
    this.#sessions.set(id, { id, workspace: request.cwd, prompted: false, asks: null, turns: new Set() })
    this.#tellLeftOut(id, request)
    return id
  }

  /**
   * Opens an existing session, and follows its tasks that have not ended.
   *
   * @param options `replay`: whether the editor gets the whole conversation again
   * @throws {RequestError} if there is no such session; {BeaverError} `not_allowed` if it belongs to another
   * user; `workspace_missing`
   */
  async reopen(request: ResumeSessionRequest, { replay }: { readonly replay: boolean }): Promise<void> {
    const { sessionId: id, cwd } = request
    const { userId } = this.#parts.settings
    await mustBeWorkspace(request)
    await using link = await this.#parts.system.open()
    const open = await readPastSession(link, { sessionId: id, userId }, (update) =>
      replay ? this.#editor.update(id, update) : Promise.resolve(),
    )
    const known = this.#sessions.get(id)
    if (known === undefined && open === null) throw RequestError.sessionNotFound(id)
    const session: Session = known ?? { id, workspace: cwd, prompted: false, asks: null, turns: new Set() }
    session.workspace = cwd
    this.#sessions.set(id, session)
    this.#tellLeftOut(id, request)
    const followed = new Set([...[...session.turns].map(({ taskId }) => taskId), session.asks?.task.taskId])
    for (const task of open ?? [])
      if (!followed.has(task.taskId)) void this.#keep(this.#followOn(session, task))
  }

  async list(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    await using link = await this.#parts.system.open()
    return await listedSessions(link, request, this.#parts.settings.userId)
  }

  /**
   * Runs a prompt to its end.
   *
   * @param signal aborts if the editor withdraws the request, which cancels the task
   */
  prompt(request: PromptRequest, signal: AbortSignal): Promise<PromptResponse> {
    const session = this.#active(request.sessionId)
    if (session.prompted)
      throw new RequestError(
        invalidRequest,
        'The session works on a prompt already. Wait for its end, or cancel it.',
      )
    const text = promptText(request.prompt)
    session.prompted = true
    const { asks } = session
    session.asks = null
    const answered =
      asks === null
        ? this.#prompt(session, text, signal)
        : this.#answer(session, { asks, text, signal }).catch((error: unknown) => {
            session.asks ??= asks
            throw error
          })
    return this.#keep(answered.finally(() => (session.prompted = false)))
  }

  /** Cancels all turns of a session. */
  cancel(sessionId: string): void {
    for (const turn of this.#sessions.get(sessionId)?.turns ?? []) turn.cancel()
  }

  /** Cancels the turns of a session and forgets the session. The journal keeps it. */
  close(sessionId: string): void {
    const { asks } = this.#active(sessionId)
    this.cancel(sessionId)
    if (asks !== null) void this.#keep(this.#cancelAsking(asks)).catch(() => {})
    this.#sessions.delete(sessionId)
  }

  /**
   * Stops following all turns; their tasks continue. Resolves when no work is under way, or after two
   * seconds, because a request may be waiting for a daemon.
   */
  async leave(): Promise<void> {
    this.#over.abort()
    const idle = new AbortController()
    const settled = Promise.allSettled(this.#working).then(() => idle.abort())
    await Promise.race([settled, pause(this.#parts.clock, leaveMsMax, idle.signal)])
  }

  async #prompt(session: Session, text: string, signal: AbortSignal): Promise<PromptResponse> {
    const { settings, ids } = this.#parts
    const { userId, profile, timeZone } = settings
    const taskId = ids.next('task')
    const end = await this.#turn(session, newTask(taskId), (turn, link) => {
      const task = {
        task: text,
        session_id: session.id,
        workspace: session.workspace,
        source: 'acp',
        stream: true,
        approvals: 'wait' as const,
      }
      return this.#cancellable(turn, signal, () =>
        turn.run(link, { ...task, user_id: userId, profile, time_zone: timeZone }, this.#over.signal),
      )
    })
    return this.#responseTo(session, taskId, end)
  }

  /**
   * Runs a prompt that answers a question. Its task continues, and the prompt ends as if it had begun the
   * task.
   */
  async #answer(
    session: Session,
    {
      asks,
      text,
      signal,
    }: { readonly asks: AskingTask; readonly text: string; readonly signal: AbortSignal },
  ): Promise<PromptResponse> {
    const { task, question } = asks
    const { taskId } = task
    const showText = (text: string): void =>
      void this.#editor.update(session.id, agentText(`${text}\n\n`, `${taskId}.answer.${question.taskseq}`))
    const end = await this.#turn(session, task, async (turn, link) => {
      try {
        const answer = answerInText(question.question, text)
        await link.client.answer(taskId, {
          callId: askingCall(question),
          questionIndex: question.index,
          answer,
          userId: this.#parts.settings.userId,
        })
      } catch (error) {
        const isOver =
          error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')
        showText(isOver ? `${error.message} What you wrote was not used.` : messageOf(error))
        // The answer does not fit, or the daemon does not respond. The question stays open for the next
        // prompt.
        if (!isOver) return (session.asks ??= asks)
      }
      return this.#cancellable(turn, signal, () => turn.resume(link, this.#over.signal))
    })
    return this.#responseTo(session, taskId, end)
  }

  async #cancelAsking({ task }: AskingTask): Promise<void> {
    await using link = await this.#parts.system.open()
    await link.client.cancel(task.taskId, 'Cancelled in the editor.', { userId: this.#parts.settings.userId })
  }

  async #cancellable<Result>(turn: Turn, signal: AbortSignal, act: () => Promise<Result>): Promise<Result> {
    // The signal also aborts when the connection closes. This cancels nothing.
    const cancel = (): void => (isCancel(signal.reason) ? turn.cancel() : undefined)
    signal.addEventListener('abort', cancel, { once: true })
    if (signal.aborted) cancel()
    try {
      return await act()
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  #responseTo(session: Session, taskId: string, end: TaskViewEnd | AskingTask | null): PromptResponse {
    if (end === null) return { stopReason: 'cancelled' }
    return 'question' in end ? { stopReason: 'end_turn' } : this.#responseOf(session, taskId, end)
  }

  #responseOf(session: Session, taskId: string, end: TaskViewEnd): PromptResponse {
    const { type, result } = end
    const { failure } = result
    const stopReason = type === 'task_cancelled' ? 'cancelled' : stopReasons[failure?.class ?? 'none']
    if (type === 'task_failed' && stopReason === undefined && result.final_output === '') {
      const why = failure === null ? '' : `: ${failure.message}`
      throw new RequestError(-32_603, `The task ${taskId} failed${why}`, {
        task_id: taskId,
        failure: failure?.class ?? null,
      })
    }
    for (const update of endUpdates(taskId, end)) void this.#editor.update(session.id, update)
    return { stopReason: stopReason ?? 'end_turn' }
  }

  /** Shows the rest of a task that was already running when its session was opened. */
  async #followOn(session: Session, task: ReadTask): Promise<void> {
    try {
      const end = await this.#turn(session, task, (turn, link) => turn.resume(link, this.#over.signal))
      if (end === null || 'question' in end) return
      for (const update of endUpdates(task.taskId, end)) void this.#editor.update(session.id, update)
    } catch (error) {
      this.#editor.notice(session.id, messageOf(error))
    }
  }

  async #turn<Result>(
    session: Session,
    task: ReadTask,
    act: (turn: Turn, link: SystemLink) => Promise<Result>,
  ): Promise<Result> {
    if (this.#turns >= turnsMax)
      throw new BeaverError(
        'wrong_state',
        `${turnsMax} tasks are followed here. Wait until one of them has ended.`,
      )
    const { system, clock, settings } = this.#parts
    const asks = (asking: AskingTask): void => void (session.asks ??= asking)
    const turn = new Turn(
      { editor: this.#editor, clock, sessionId: session.id, userId: settings.userId, asks },
      task,
    )
    // Before anything asynchronous, because a cancel may come at once.
    session.turns.add(turn)
    this.#turns++
    try {
      await using link = await system.open()
      return await act(turn, link)
    } finally {
      turn.abandon()
      this.#turns--
      session.turns.delete(turn)
    }
  }

  #active(sessionId: string): Session {
    const session = this.#sessions.get(sessionId)
    if (session === undefined) throw RequestError.sessionNotFound(sessionId)
    return session
  }

  #keep<Result>(work: Promise<Result>): Promise<Result> {
    this.#working.add(work)
    const over = (): void => void this.#working.delete(work)
    work.then(over, over)
    return work
  }

  #tellLeftOut(sessionId: string, { mcpServers = [] }: Pick<ResumeSessionRequest, 'mcpServers'>): void {
    if (mcpServers.length === 0) return
    const names = mcpServers.map(({ name }) => name).join(', ')
    this.#editor.notice(
      sessionId,
      `Beaver does not start the MCP servers of the editor (${names}). Name them in beaver.config.json: its daemon connects to them.`,
    )
  }
}

/** Checks the folder of a session. @throws {RequestError} invalid params; {BeaverError} `workspace_missing` */
async function mustBeWorkspace({
  cwd,
  additionalDirectories = [],
}: Pick<NewSessionRequest, 'cwd' | 'additionalDirectories'>): Promise<void> {
  const refuse = (path: string, text: string): RequestError =>
    new RequestError(-32_602, text, { code: 'invalid_arguments', path })
  if (!isAbsolute(cwd)) throw refuse('cwd', `The folder ${cwd} must be an absolute path.`)
  if (additionalDirectories.length > 0)
    throw refuse('additionalDirectories', 'A task of Beaver works in one folder.')
  const found = await stat(cwd).catch(() => null)
  if (found?.isDirectory() !== true)
    throw new BeaverError(
      'workspace_missing',
      found === null ? `The folder ${cwd} does not exist.` : `${cwd} is a file, not a folder.`,
    )
}

const isCancel = (reason: unknown): boolean =>
  reason instanceof RequestError && reason.code === requestCancelled

// Makes the text of a task from the blocks of a prompt. Pure. A file that the user mentions stays a link:
// agents read it with their tools, so their permissions and labels apply.

/**
 * The text of a prompt.
 *
 * @throws {RequestError} invalid params if the prompt is empty, or has a block of a kind that `initialize`
 * did not offer
 */
export function promptText(blocks: readonly ContentBlock[]): string {
  const text = blocks.map(blockText).join('').trim()
  if (text === '') throw RequestError.invalidParams({ path: 'prompt' }, 'The prompt has no text.')
  return text
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'resource_link':
      return `[${oneLine(block.name)}](${oneLine(pathOf(block.uri) ?? block.uri)})`
    case 'resource':
    case 'image':
    case 'audio':
      throw RequestError.invalidParams(
        { path: 'prompt' },
        `Beaver takes text and links to files, and no block of the type ${block.type}. Save an image in the folder of the session and mention it: the agent looks at it with view_image.`,
      )
    default:
      return block satisfies never
  }
}

/** The path of a file URI. `null`: the URI is not one, or names a file on another machine. */
function pathOf(uri: string): string | null {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : null
  } catch {
    return null
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim()

// The list of the sessions that an editor may open, newest first.

const pageSize = 50
const titleCharsMax = 100

/**
 * One page of the sessions of a user. With `cwd`, a page may be empty although more pages follow.
 *
 * @throws {RequestError} invalid params if the cursor is not one of an earlier page
 * @throws {BeaverError} `no_daemon` if no projector runs
 */
async function listedSessions(
  { client }: Pick<SystemLink, 'client'>,
  { cwd, cursor }: ListSessionsRequest,
  userId: string | undefined,
): Promise<ListSessionsResponse> {
  if (cursor !== undefined && cursor !== null && !/^\d{1,15}$/.test(cursor))
    throw RequestError.invalidParams({ path: 'cursor' }, 'No answer had this cursor.')
  const before = cursor === undefined || cursor === null ? undefined : Number(cursor)
  const page = await client.query('sessions', { user_id: userId ?? null, limit: pageSize, before })
  const sessions: SessionInfo[] = []
  for (const {
    session_id: sessionId,
    title,
    text,
    last_at: updatedAt,
    last_task_id: last,
  } of page.sessions) {
    const workspace = await workspaceOf({ client }, last)
    if (workspace === null || (typeof cwd === 'string' && workspace !== cwd)) continue
    sessions.push({
      sessionId,
      cwd: workspace,
      title: (title ?? text ?? '').replaceAll(/\s+/gu, ' ').slice(0, titleCharsMax).toWellFormed(),
      updatedAt,
    })
  }
  return { sessions, ...(page.next === null ? {} : { nextCursor: String(page.next) }) }
}

/** The folder of a task. `null`: its log cannot be read, so the session cannot be opened, either. */
async function workspaceOf({ client }: Pick<SystemLink, 'client'>, taskId: string): Promise<string | null> {
  try {
    for await (const event of client.events(taskId))
      return event.type === 'task_submitted' ? event.data.request.workspace : null
    return null
  } catch (error) {
    if (error instanceof BeaverError && error.code !== 'unreachable') return null
    throw error
  }
}
