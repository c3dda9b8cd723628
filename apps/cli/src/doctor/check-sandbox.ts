// Checks what confines the programs that agents run, and says what it does not cover.
import { findSandbox, sandboxAdvice, type SandboxPrograms } from '@beaver/agent/tool-kit'
import type { Config } from '@beaver/platform'
import { fail, type Finding, ok, warn } from './check.ts'

const notCovered = 'it bounds the memory of each process, not of all together'

const missing = ({ prlimit, perl }: SandboxPrograms): string[] => [
  ...(prlimit === null ? ['without prlimit there are no bounds for processes'] : []),
  ...(perl === null ? ['system calls are not filtered, which needs perl on x64 or arm64'] : []),
]

export async function checkSandbox({
  sandbox,
  run_command: command,
}: Pick<Config, 'sandbox' | 'run_command'>): Promise<Finding> {
  if (sandbox === 'off')
    return warn(
      'sandbox',
      'is off: commands and MCP servers have the rights of this user',
      'Set "sandbox" to "auto" or "required".',
    )
  const found = await findSandbox()
  if (found !== null) return ok('sandbox', [found.backend, notCovered, ...missing(found)].join('; '))
  if (sandbox === 'required')
    return fail(
      'sandbox',
      'is required and this machine has none: Beaver runs no commands and no MCP programs',
      sandboxAdvice,
    )
  const says = command.enabled
    ? 'there is none: commands have the rights of this user, and can read its keys'
    : 'there is none on this machine'
  return warn('sandbox', says, sandboxAdvice)
}
