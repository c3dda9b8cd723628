// The sessions that an editor may continue, newest first.
import {
  type ListSessionsRequest,
  type ListSessionsResponse,
  RequestError,
  type SessionInfo,
} from '@agentclientprotocol/sdk'
import { BeaverError } from '@beaver/core'
import type { SystemLink } from './editor-system.ts'

const pageSize = 50
const titleCharsMax = 100

/**
 * One page of the sessions of a user. With `cwd`, a page may be empty although more follow.
 *
 * @throws {RequestError} invalid params for a cursor that no answer had
 * @throws {BeaverError} `no_daemon` if no projector runs
 */
export async function listedSessions(
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

/** The folder of a task. `null`: its log cannot be read, so that nobody could continue the session either. */
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
