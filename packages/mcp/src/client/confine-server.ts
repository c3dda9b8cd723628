// Confines the program of an MCP server by the setting of the operator. The program sees its own folder, the
// packages of the files that its command names, and the folders that its arguments and variables name: the
// operator wrote them down. It sees no home folder, no other process and nothing of Beaver. It has a network,
// unless the operator takes it away: most servers speak for a service.
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, resolve } from 'node:path'
import { confined, packageRoot, type SandboxOptions } from '@beaver/agent/tool-kit'
import type { Address, McpProgramSpec } from './server-spec.ts'

type Program = Extract<Address, { kind: 'program' }>

/** @throws {ToolFailure} `sandbox_missing` */
export async function confineServer(
  program: Program,
  { network, env, writable = [] }: Pick<McpProgramSpec, 'network' | 'env' | 'writable'>,
  sandbox: SandboxOptions,
): Promise<Program> {
  const found = programOf(program)
  // A program that does not exist is started as it is, so that the reason is told.
  if (sandbox.mode === 'off' || found === null) return program
  const cwd = program.cwd === undefined ? process.cwd() : resolve(program.cwd)
  const named = [found, ...program.args.filter((arg) => arg.includes('/')).map((arg) => resolve(cwd, arg))]
  // What a variable of the configuration names, such as a file with memories, is the server's own.
  const own = Object.keys(env).flatMap((name) =>
    isAbsolute(program.env[name] ?? '') ? [program.env[name] ?? ''] : [],
  )
  const of = {
    cwd: program.cwd === undefined ? '/tmp' : cwd,
    writable: [
      ...(program.cwd === undefined ? [] : [cwd]),
      ...named.filter((path) => kindOf(path) === 'folder'),
      ...own,
      ...writable.map((path) => resolve(cwd, path)),
    ],
    readable: named.filter((path) => kindOf(path) === 'file').map((path) => packageRoot(realpathSync(path))),
    network: network !== false,
    path: program.env['PATH'],
  }
  // An argument that is relative to the folder of the daemon would lead nowhere in another folder.
  const args =
    program.cwd === undefined
      ? program.args.map((arg) =>
          arg.startsWith('.') && kindOf(resolve(cwd, arg)) !== 'none' ? resolve(cwd, arg) : arg,
        )
      : program.args
  const what = await confined(sandbox, of, [found, ...args])
  if (what.backend === 'none') return program
  return {
    ...program,
    command: what.program,
    args: what.args,
    env: { ...program.env, HOME: '/tmp', TMPDIR: '/tmp' },
  }
}

function programOf({ command, cwd, env }: Program): string | null {
  const places = command.includes('/')
    ? [resolve(cwd ?? '.', command)]
    : (env['PATH'] ?? '')
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => resolve(folder, command))
  return places.find(isProgram) ?? null
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return kindOf(path) === 'file' && dirname(path) !== path
  } catch {
    return false
  }
}

function kindOf(path: string): 'folder' | 'file' | 'none' {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file'
  } catch {
    return 'none'
  }
}
