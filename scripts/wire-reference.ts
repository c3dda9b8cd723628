// `pnpm docs:wire`: writes docs/reference/wire.md. A test holds the page to what this makes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib/layout.mjs'
import { wireReference } from './lib/wire-reference.ts'

writeFileSync(join(root, 'docs', 'reference', 'wire.md'), wireReference())
process.stdout.write('docs/reference/wire.md is written.\n')
