// `pnpm docs:metrics`: writes docs/reference/metrics.md. A test holds the page to what this makes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib/layout.mjs'
import { metricsReference } from './lib/metrics-reference.ts'

writeFileSync(join(root, 'docs', 'reference', 'metrics.md'), metricsReference())
process.stdout.write('docs/reference/metrics.md is written.\n')
