// The tests, with fast-check in the form that `pnpm properties` watches.
import { fileURLToPath } from 'node:url'
import { defineConfig, mergeConfig } from 'vitest/config'
import tests from '../../vitest.config.ts'

export default mergeConfig(
  tests,
  defineConfig({
    root: fileURLToPath(new URL('../../', import.meta.url)),
    resolve: {
      alias: [
        { find: /^fast-check$/, replacement: fileURLToPath(new URL('./fast-check.ts', import.meta.url)) },
      ],
    },
    test: { testTimeout: 300_000 },
  }),
)
