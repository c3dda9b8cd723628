import { loggerOver, type LogLine } from '@beaver/core'
import { loadConfig } from '@beaver/platform'
import { expect, it } from 'vitest'
import { loadAgents } from './agents.ts'

type Rules = NonNullable<NonNullable<Parameters<typeof loadConfig>[0]>['set']>['permissions']

async function linesAbout(rules: NonNullable<Rules>['rules']): Promise<string[]> {
  const logged: LogLine[] = []
  await loadAgents(
    loadConfig({ set: { permissions: { rules } } }, {}, import.meta.dirname),
    null,
    loggerOver((line) => logged.push(line)),
  )
  return logged.flatMap(({ level, event, message }) =>
    message.includes('rule') ? [`${level} ${event}: ${message}`] : [],
  )
}

it('a daemon tells the permission rules that never hold in one line of its log, and starts', async () => {
  expect(
    await linesAbout([
      { tool: 'read_file', pattern: '../x', decision: 'deny' },
      { tool: 'gone', decision: 'ask' },
    ]),
  ).toEqual([
    'warn configuration_diagnostic: Permission rule 1 (deny read_file ../x) never holds: a path never contains "..". Write the pattern relative to the workspace. ' +
      'Permission rule 2 (ask gone) never holds: no tool has such a name. "beaver tools list" shows the names, without "system:"; workflows need no permission.',
  ])
})

it('a thousand of them are still one line, and none is none', async () => {
  const [line = '', ...others] = await linesAbout(
    Array.from({ length: 1_000 }, (_, i) => ({ tool: `gone${i}`, decision: 'deny' as const })),
  )
  expect([others, line.length < 4_000, line.endsWith(' 990 more.')]).toEqual([[], true, true])
  expect(await linesAbout([{ tool: 'read_file', pattern: '*.env', decision: 'deny' }])).toEqual([])
})
