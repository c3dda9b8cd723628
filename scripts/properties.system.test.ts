// `pnpm properties`, run as a user runs it.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('properties.ts', import.meta.url))
const properties = (...args: string[]) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' })

it('tells file, properties, runs and seed of what it ran', () => {
  const { status, stdout } = properties('tool-scope.test.ts', '--seed', '7', '--times', '3')
  expect(stdout).toMatch(/^seed 7, 3 times the runs of each property, 1 files$/m)
  expect(stdout).toMatch(/^packages\/core\/src\/tool-scope\.test\.ts +1 +600 +7 +hold$/m)
  expect(status).toBe(0)
})

it('uses another seed each time, unless it is given one', async () => {
  const seedOf = async (): Promise<string | undefined> => {
    const child = spawn(process.execPath, [script, 'tool-scope.test.ts', '--times', '1'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const gone = once(child, 'close')
    const [first] = (await once(child.stdout, 'data')) as [Buffer]
    // It has told its seed before anything ran: see P1 in properties.ts.
    child.kill('SIGTERM')
    await gone
    return /^seed (\d+),/.exec(first.toString())?.[1]
  }
  const seeds = await Promise.all([seedOf(), seedOf()])
  expect(seeds[0]).toMatch(/^\d+$/)
  expect(seeds[1]).toMatch(/^\d+$/)
  expect(seeds[0]).not.toBe(seeds[1])
})

it.each([
  [['nowhere.test.ts'], 'No property test is called nowhere.test.ts'],
  [['--times', '0'], '--times at least 1'],
  [['--seed', 'x'], 'whole numbers'],
])('%j is wrong usage', (args, says) => {
  const { status, stderr } = properties(...args)
  expect(status).toBe(2)
  expect(stderr).toContain(says)
})
