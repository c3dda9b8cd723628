// fast-check as `pnpm properties` runs it: every property with the seed of the command and more runs than it
// has of its own, each told to the command. The tests import `fast-check` as ever; the configuration beside
// this file puts this in its place.
import { appendFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as FastCheck from 'fast-check'
import { expect } from 'vitest'
import type { PropertyRun } from './property-run.ts'

const real = createRequire(import.meta.url)('fast-check') as typeof FastCheck
const {
  PROPERTIES_SEED: seed = '0',
  PROPERTIES_TIMES: times = '1',
  PROPERTIES_REPORT: report = '',
} = process.env
const ownRunsDefault = 100

function assert<Ts>(
  property: FastCheck.IRawProperty<Ts>,
  parameters: FastCheck.Parameters<Ts> = {},
): Promise<void> | void {
  const { testPath: file = '', currentTestName: test = '' } = expect.getState()
  const told = (details: FastCheck.RunDetails<Ts>): void => {
    const run: PropertyRun = { file, test, runs: details.numRuns, failed: details.failed }
    appendFileSync(report, `${JSON.stringify(run)}\n`)
    if (details.failed) throw new Error(real.defaultReportMessage(details), { cause: details.errorInstance })
  }
  const { reporter: _, asyncReporter: __, ...own } = parameters
  const watched = {
    ...own,
    seed: Number(seed),
    numRuns: (parameters.numRuns ?? ownRunsDefault) * Number(times),
    reporter: told,
  }
  return real.assert(property as FastCheck.IProperty<Ts>, watched)
}

// As the real one has it.
// oxlint-disable-next-line import/no-default-export
export default { ...real, assert }
