// `beaver memory`: shows what agents keep for later runs. Only an operator may ask for another user.
import type { MemoryReport } from '@beaver/contracts'
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { count } from '../text/figures.ts'
import { plainText } from '../text/plain-text.ts'

export async function memory(
  { json, user }: { readonly user?: string; readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config, user === undefined ? 'client' : 'operator'))
  const report = await connection.client.memory({ userId: user })
  if (json === true) screen.json(report)
  else screen.print(...memoryLines(report, screen, user ?? null))
  return 0
}

export function memoryLines(
  { memory: work, user: person }: MemoryReport,
  { style }: Pick<Screen, 'style'>,
  user: string | null,
): string[] {
  const list = (title: string, { entries, chars, chars_max: max }: MemoryReport['memory']): string[] => [
    `${style.bold(title)} ${style.dim(`(${count(chars)} of ${count(max)} characters)`)}`,
    ...(entries.length === 0
      ? [style.dim('  nothing')]
      : entries.map((entry) => `  - ${plainText(entry).trim().replaceAll('\n', '\n    ')}`)),
  ]
  return [
    ...list('About the work', work),
    '',
    ...list(user === null ? 'About the user, of tasks without a user' : `About ${plainText(user)}`, person),
  ]
}
