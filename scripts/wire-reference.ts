// `pnpm docs:wire`: writes docs/wire-reference.md. A test holds the page to what this makes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib/layout.mjs'
import { wireReference } from './lib/wire-reference.ts'

writeFileSync(join(root, 'docs', 'wire-reference.md'), wireReference())
process.stdout.write('docs/wire-reference.md is written.\n')
