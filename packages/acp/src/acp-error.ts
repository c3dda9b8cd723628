// Errors as ACP says them. An editor shows `message` to a person, so it is Beaver's own sentence. `data` has
// Beaver's code, for programs.
import { RequestError } from '@agentclientprotocol/sdk'
import { BeaverError, type ErrorCode, messageOf } from '@beaver/core'

const invalidParams = -32_602
const internalError = -32_603
const resourceNotFound = -32_002

/** The request is at fault. All other errors are the system's. */
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

export function acpError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  if (!(error instanceof BeaverError))
    return new RequestError(internalError, `Beaver has a defect: ${messageOf(error)}`, { code: 'internal' })
  const { code, message, problems } = error
  const number = code === 'not_found' ? resourceNotFound : faulty.has(code) ? invalidParams : internalError
  return new RequestError(number, message, { code, ...(problems.length === 0 ? {} : { problems }) })
}
