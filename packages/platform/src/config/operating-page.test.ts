// docs/reference/configuration.md and docs/reference/failures.md, held to the schema: every key, its
// environment variable and its default.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type FailureClass,
  type FailurePolicy,
  failurePolicies,
  outageClasses,
  retryTimeMsMax,
} from '@beaver/core/supervision'
import { configFile } from './config-file.ts'
import { variables } from './config.ts'

const page = readFileSync(new URL('../../../../docs/reference/configuration.md', import.meta.url), 'utf8')
const failures = readFileSync(new URL('../../../../docs/reference/failures.md', import.meta.url), 'utf8')

/** The table of keys, by key: the environment variable and the default as they are written. */
const documented = new Map(
  [...page.matchAll(/^\| `([\w.]+)` \| (?:`(\w+)`)? *\| ([^|]*) \|/gm)].map(
    ([, key = '', variable, byDefault = '']) => [key, { variable, byDefault }],
  ),
)

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly default?: unknown
}

/** The keys of a schema with their defaults; a group of which the page tells as a whole is one. */
function keysOf(schema: Schema, path = ''): [string, unknown][] {
  if (schema.properties === undefined || documented.has(path)) return [[path, schema.default]]
  return Object.entries(schema.properties).flatMap(([key, of]) =>
    keysOf(of, path === '' ? key : `${path}.${key}`),
  )
}

/** Of this machine: the page says how it follows. */
const ofTheMachine = 'daemon.worker_threads'
const keys = keysOf(z.toJSONSchema(configFile, { io: 'input' }) as Schema)

it('lists exactly the keys of the configuration', () => {
  expect([...documented.keys()].toSorted()).toEqual(keys.map(([key]) => key).toSorted())
})

it.each(keys.filter(([key, byDefault]) => byDefault !== undefined && key !== ofTheMachine))(
  'says the default of %s',
  (key, byDefault) => {
    const written = documented.get(key)?.byDefault.replaceAll('`', '')
    expect(written).toBe(typeof byDefault === 'string' ? byDefault : JSON.stringify(byDefault))
  },
)

it('names the environment variable of each key that has one, and of no other', () => {
  const written = [...documented].flatMap(([key, { variable }]) =>
    variable === undefined ? [] : [[variable, key] as const],
  )
  expect(new Map(written)).toEqual(new Map(variables.map(({ name, path }) => [name, path.join('.')])))
})

describe('what is done about a failure', () => {
  const timeoutMs = configFile.parse({}).model.timeout_ms
  const rows = new Map(
    failures.split('\n').flatMap((line) => (/^\| `[a-z_]+` \|(.*\|){4}$/.test(line) ? [cellsIn(line)] : [])),
  )

  function cellsIn(line: string): [string, string[]] {
    const [name = '', ...cells] = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
    return [name.replaceAll('`', ''), cells]
  }

  const waits = (name: FailureClass): string =>
    name === 'rate_limited'
      ? '`provider_limit_ms_max`'
      : outageClasses.has(name)
        ? '`provider_outage_ms_max`'
        : ''

  function cellsOf(name: FailureClass, policy: FailurePolicy): string[] | null {
    if (policy.action === 'fail_run') return null
    if (policy.action === 'restart')
      return [`${policy.restartsMax} restart${policy.restartsMax === 1 ? '' : 's'}`, '', '', '']
    const seconds = (retryTimeMsMax(policy, timeoutMs) ?? 0) / 1_000
    return [
      String(policy.triesMax),
      `${policy.pauseMsMin} to ${policy.pauseMsMax} ms`,
      waits(name),
      `${seconds} s`,
    ]
  }

  it.each(Object.entries(failurePolicies) as [FailureClass, FailurePolicy][])(
    'says the tries, the pauses and the whole time of %s',
    (name, policy) => {
      expect(rows.get(name) ?? null).toEqual(cellsOf(name, policy))
    },
  )
})
