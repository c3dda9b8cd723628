import { defineConfig } from 'vitest/config'
import { compileCache } from './test/support/compile-cache.ts'
import { LongFilesFirst } from './test/support/long-files-first.ts'

export default defineConfig({
  test: {
    pool: 'forks',
    // Tests of the system wait more than they compute: a third worker works while two wait, also on two processors.
    maxWorkers: 3,
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // The default is one second: on a busy machine, a process or a thread takes longer to act.
    expect: { poll: { timeout: 20_000 } },
    sequence: { sequencer: LongFilesFirst },
    // The tests of one worker share its modules: loading them again for each file costs more than running most of them.
    isolate: false,
    // For processes that inherit the environment of a test: see test/support/compile-cache.ts.
    env: compileCache,
    projects: [
      {
        extends: true,
        test: { name: 'packages', include: ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.ts'] },
      },
      {
        extends: true,
        test: { name: 'system', include: ['test/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/**/*.test.ts'] },
      },
    ],
  },
})
