// The suites. docs/how-to/contribute.md says which claim belongs into which.
import { defineConfig } from 'vitest/config'
import { compileCache } from './test/support/compile-cache.ts'
import { LongFilesFirst } from './test/support/long-files-first.ts'

const beside = (ending: string): string[] =>
  ['packages', 'apps'].map((folder) => `${folder}/*/src/**/*.${ending}`)

const suite = (name: string, include: readonly string[], exclude: readonly string[] = []) => ({
  extends: true as const,
  test: { name, include: [...include], exclude: ['**/node_modules/**', ...exclude] },
})

export default defineConfig({
  test: {
    pool: 'forks',
    // Tests of the system wait more than they compute: a third worker works while two wait, also on two
    // processors.
    maxWorkers: 3,
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // The default is one second: on a busy machine, a process or a thread takes longer to act.
    expect: { poll: { timeout: 20_000 } },
    sequence: { sequencer: LongFilesFirst },
    // The tests of one worker share its modules: loading them again for each file costs more than running
    // most of them.
    isolate: false,
    globalSetup: ['test/support/run.ts'],
    setupFiles: ['test/support/each-file.ts'],
    // For processes that inherit the environment of a test: see test/support/compile-cache.ts.
    env: compileCache,
    projects: [
      // `npm test`
      suite(
        'unit',
        [
          ...beside('test.ts'),
          'test/{house,conformance,deploy}/**/*.test.ts',
          '{scripts,bench}/**/*.test.ts',
        ],
        ['**/*.{system,campaign}.test.ts'],
      ),
      suite('smoke', ['test/smoke/*.test.ts']),
      // A browser on the console, for `npm test` and for `npm run test:all`. `scripts/test.mjs` leaves both out
      // if this machine has none.
      suite('console-smoke', ['test/console/smoke.test.ts']),
      suite('console', ['test/console/*.test.ts']),
      // `npm run test:all`
      suite('system', [...beside('system.test.ts'), 'scripts/**/*.system.test.ts', 'test/system/*.test.ts']),
      // `npm run test:campaign`
      suite('campaign', [...beside('campaign.test.ts'), 'test/campaign/*.test.ts']),
    ],
  },
})
