// run_command: starts a program of this machine in the workspace, if the configuration allows it. There is no
// shell, so rules and people see what runs; rules also see what the program would start (programs/readings.ts
// in @beaver/agent). The program runs in the machine's sandbox (sandbox.ts in @beaver/agent): it sees the
// workspace, the system's programs, its own processes, and a network only if the operator allows it. Without
// a sandbox it has the rights of the daemon, but never its environment. After the call, nothing of its
// process group is left (process-group.ts in @beaver/agent).
import { realpath } from 'node:fs/promises'
import {
  allowsCommand,
  childEnvironment,
  commandLine,
  confined,
  defineTool,
  groupsSupported,
  noSandbox,
  type SandboxOptions,
  startGroup,
  type Tool,
  ToolFailure,
  withTrace,
} from '@beaver/agent/tool-kit'
import { z } from 'zod'
import type { BuiltinToolOptions } from '../options.ts'

export interface CommandResult {
  readonly command: string
  /** `null` if a signal ended it. */
  readonly exit_code: number | null
  readonly signal: string | null
  readonly duration_ms: number
  readonly stdout: string
  readonly stderr: string
}

const argumentCharsMax = 32_000
const fileBytesMax = 1_073_741_824
/** The time between the request to end and the kill. */
const graceMs = 500
/** The time for the kill and the result before the executor ends the call. */
const reserveMs = 3_000

const argument = z
  .string()
  .max(argumentCharsMax)
  .refine((text) => !text.includes('\0'), 'must not hold a NUL character')

/** @param sandbox default: none */
export function runCommand(
  { timeoutMs, outputBytesMax, tmpBytesMax, network }: BuiltinToolOptions['runCommand'],
  sandbox: SandboxOptions = noSandbox,
): Tool {
  return defineTool({
    name: 'run_command',
    description:
      'Runs a program in the workspace and returns its "exit_code", "stdout" and "stderr". There is no shell: give the program as "command" and each argument by itself; ' +
      `pipes, redirections and wildcards do not work. The standard input is empty. Beaver stops it after ${timeoutMs / 1000} s. It keeps the beginning and the end of a long output.`,
    input: z.strictObject({
      command: argument
        .min(1)
        .describe('Program: a name such as git, or a path relative to the workspace such as ./build.sh.'),
      args: z.array(argument).max(256).default([]).describe('Its arguments, one string each. Default: none.'),
    }),
    permission: 'ask',
    sink: 'command',
    reads: ({ command, args }) => (reachesOut(command, args) ? 'untrusted' : 'own'),
    subject: ({ command, args }) => commandLine([command, ...args]),
    subjectKind: 'command',
    timeoutMs: timeoutMs + graceMs + reserveMs,
    async run({ command, args }, context): Promise<CommandResult> {
      if (!groupsSupported)
        throw new ToolFailure(
          'not_supported',
          'Commands cannot be run on this system: it has no process groups.',
        )
      const cwd = await realpath(context.workspace)
      context.signal.throwIfAborted()
      const env = childEnvironment()
      const mayConnect = network.some((pattern) => allowsCommand(pattern, [command, ...args]))
      const confinedCommand = await confined(
        sandbox,
        { cwd, writable: [cwd], network: mayConnect, tmpBytesMax, path: env['PATH'] },
        [command, ...args],
      )
      context.signal.throwIfAborted()
      const begun = performance.now()
      const cpuSecondsMax = Math.ceil(timeoutMs / 1000) + 1
      const own = confinedCommand.backend === 'none' ? {} : { HOME: '/tmp', TMPDIR: '/tmp' } // The home of the user is not there.
      const group = startGroup(confinedCommand.program, confinedCommand.args, {
        cwd,
        env: withTrace({ LANG: 'C.UTF-8', ...env, ...own }, context.trace),
        cpuSecondsMax,
        fileBytesMax,
      })
      const [stdout, stderr] = [headTail(outputBytesMax / 2), headTail(outputBytesMax / 2)]
      group.child.stdout?.on('data', (chunk: Buffer) => stdout.add(chunk))
      group.child.stderr?.on('data', (chunk: Buffer) => stderr.add(chunk))
      const stop = stopper(group)
      const deadline = setTimeout(stop.begin, timeoutMs)
      context.signal.addEventListener('abort', stop.begin, { once: true })
      const { exitCode, signal, error } = await group.ended
      clearTimeout(deadline)
      stop.done()
      context.signal.removeEventListener('abort', stop.begin)
      context.signal.throwIfAborted()
      if (error !== null)
        throw new ToolFailure(
          'not_started',
          `${commandLine([command])} could not be started: ${error.message}.`,
        )
      const result = {
        exit_code: exitCode,
        signal,
        duration_ms: Math.round(performance.now() - begun),
        stdout: stdout.text(),
        stderr: stderr.text(),
      }
      context.reads({ files: namesIn(`${result.stdout}\n${result.stderr}`), namesOnly: true })
      if (stop.begun)
        throw new ToolFailure(
          'tool_timeout',
          `${commandLine([command, ...args]).slice(0, 500)} did not end within ${timeoutMs / 1000} s and was stopped, with all it had started. What it said until then: ${JSON.stringify({ stdout: result.stdout, stderr: result.stderr })}`,
        )
      return { command: commandLine([command, ...args]), ...result }
    },
  })
}

/** Programs that fetch other people's text, by their names. */
const network =
  /^(?:curl|wget|ssh|scp|sftp|rsync|ftp|nc|ncat|telnet|gh|glab|lynx|w3m|links|aws|gcloud|az|kubectl|dig|host|nslookup|mail|mutt)$/

/** Whether output may be untrusted: of these programs, or if an argument names one of them or an address. */
const reachesOut = (command: string, args: readonly string[]): boolean =>
  [command, ...args.flatMap((each) => each.split(/[\s;|&()`$]+/))].some(
    (word) => network.test(word.slice(word.lastIndexOf('/') + 1)) || word.includes('://'),
  ) ||
  (/(?:^|\/)git$/.test(command) &&
    args.some((each) => /^(?:clone|fetch|pull|ls-remote|submodule)$/.test(each)))

const namesMax = 5_000

/**
 * The paths that programs such as find, ls and grep begin a line with. An indented line, such as one of a
 * stack, names no file of a list.
 */
function namesIn(output: string): string[] {
  const names = output.matchAll(/^(?:\.\/)?([^\s:]{1,4096})/gm)
  return [...new Set(names.take(namesMax).map(([, name = '']) => name.replace(/\/+$/, '') || '/'))]
}

function stopper(group: ReturnType<typeof startGroup>): {
  begin(): void
  done(): void
  readonly begun: boolean
} {
  let timer: NodeJS.Timeout | undefined
  return {
    begin() {
      if (timer !== undefined) return
      group.kill('SIGTERM')
      timer = setTimeout(() => group.kill('SIGKILL'), graceMs)
    },
    done: () => clearTimeout(timer),
    get begun() {
      return timer !== undefined
    },
  }
}

// Keeps the beginning and the end of an output of unknown length, in at most `bytesMax` and one chunk of
// memory. A count shows where text is missing.

interface HeadTail {
  add(chunk: Buffer): void
  /** Invalid UTF-8 becomes U+FFFD. */
  text(): string
  readonly bytesLeftOut: number
}

export function headTail(bytesMax: number): HeadTail {
  const headMax = Math.ceil(bytesMax / 2)
  const tailMax = bytesMax - headMax
  let head = Buffer.alloc(0)
  let tail = Buffer.alloc(0)
  let bytes = 0
  const leftOut = (): number => bytes - head.length - tail.length
  return {
    add(chunk) {
      bytes += chunk.length
      const room = headMax - head.length
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)])
      if (chunk.length <= room) return
      const rest = chunk.subarray(Math.max(room, chunk.length - tailMax))
      tail = Buffer.concat([tail.subarray(Math.max(0, tail.length + rest.length - tailMax)), rest])
    },
    text() {
      if (leftOut() === 0) return new TextDecoder().decode(Buffer.concat([head, tail]))
      // A character that is cut at the gap is left out.
      const before = new TextDecoder().decode(head, { stream: true })
      const after = new TextDecoder().decode(tail).replace(/^\uFFFD{1,3}/, '')
      return `${before}\n[… ${leftOut()} bytes left out …]\n${after}`
    },
    get bytesLeftOut() {
      return leftOut()
    },
  }
}
