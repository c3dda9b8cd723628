// Turns anything that was thrown into a message for a person and an exit code for the shell. This file loads
// nothing else, so that help and usage errors are quick. stderr gets a clear sentence and no stack trace,
// except with BEAVER_DEBUG=1. With --json, stdout also gets the error as one line of JSON.

/** The error as it is printed. `exit` is the exit code. */
export interface FailureReport {
  readonly code: string
  readonly message: string
  readonly problems: readonly { readonly path: string; readonly message: string }[]
  readonly exit: number
}

/** Wrong usage of the command line. */
export class UsageError extends Error {
  readonly code = 'invalid_arguments'
}

/** The report of anything that was thrown. */
export async function reportOf(error: unknown): Promise<FailureReport> {
  if (error instanceof UsageError) return { code: error.code, message: error.message, problems: [], exit: 2 }
  const { BeaverError, errorCodes, messageOf } = await import('@beaver/core')
  if (error instanceof BeaverError)
    return {
      code: error.code,
      message: error.message,
      problems: error.problems,
      exit: errorCodes[error.code].exit,
    }
  return {
    code: 'internal',
    message: `Beaver has a defect: ${messageOf(error)} (set BEAVER_DEBUG=1 to see where)`,
    problems: [],
    exit: 1,
  }
}

/** The lines for stderr. Problems are listed if there are several and the message does not name them all. */
export function linesOf({ message, problems }: FailureReport): string[] {
  const unnamed = problems.filter((problem) => !message.includes(problem.message))
  const listed =
    problems.length > 1 && unnamed.length > 0
      ? problems.map((problem) => `  ${problem.path === '' ? '' : `${problem.path}: `}${problem.message}`)
      : []
  return [message, ...listed]
}
