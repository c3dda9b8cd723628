// Failure: what went wrong in the set-up, in one sentence that says what to do.

export class SetupError extends Error {
  /**
   * @param {string} sentence
   * @param {string} [output] of the tool that failed; its last lines are shown
   * @param {boolean} [ofMachine] the network, the disk or the rights are at fault: another way would fail as
   * well
   */
  constructor(sentence, output = '', ofMachine = false) {
    super(sentence)
    this.name = 'SetupError'
    this.output = output
    this.ofMachine = ofMachine
  }
}

/**
 * The failure as printed: the sentence, below it the tool's last lines, indented.
 * @param {unknown} error
 * @returns {string}
 */
export function describeFailure(error) {
  if (!(error instanceof SetupError)) return `set-up failed: ${systemSentence(error)}`
  const lines = error.output
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== '')
    .slice(-12)
  return [`set-up failed: ${error.message}`, ...lines.map((line) => `  ${line.slice(0, 400)}`)].join('\n')
}

/**
 * A sentence for a tool that failed, from what it printed.
 * @param {string} what such as `pnpm install`
 * @param {{ code: number | null, output: string, missing: boolean, timedOut: boolean }} result
 * @returns {SetupError}
 */
export function toolFailure(what, result) {
  const { output } = result
  if (result.missing)
    return new SetupError(
      `${what} could not be started: its program was not found on PATH; install it and try again.`,
    )
  if (result.timedOut)
    return new SetupError(
      `${what} took too long and was stopped; check the network and try again.`,
      output,
      true,
    )
  if (/ENOSPC|no space left on device/i.test(output)) {
    return new SetupError(`${what} ran out of disk space; free some and try again.`, output, true)
  }
  if (/EACCES|EPERM|EROFS|permission denied|read-only file system/i.test(output)) {
    return new SetupError(
      `${what} was not allowed to write; check who owns the project folder and try again.`,
      output,
      true,
    )
  }
  if (/OUTDATED_LOCKFILE|NO_LOCKFILE/.test(output)) {
    return new SetupError(
      `${what} found that pnpm-lock.yaml does not match the package.json files; bring it up to date and try again.`,
      output,
    )
  }
  if (
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|could not resolve|resolving '|dns error|could not connect|cannot initiate the connection|connection (refused|timed out|failed)|error sending request|could not be fetched|proxy/i.test(
      output,
    )
  ) {
    return new SetupError(
      `${what} could not reach the network; check the connection and the proxy and registry settings, and try again.`,
      output,
      true,
    )
  }
  return new SetupError(
    `${what} failed${result.code === null ? '' : ` (exit code ${result.code})`}; see its last lines below and try again.`,
    output,
  )
}

function systemSentence(error) {
  const code = /** @type {any} */ (error)?.code
  const message = error instanceof Error ? error.message : String(error)
  if (code === 'ENOSPC') return 'the disk is full; free some space and try again.'
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return `the project folder cannot be written (${message}); check who owns it and try again.`
  return `${message.split('\n')[0].replace(/\.$/, '')}.`
}
