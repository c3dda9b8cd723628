// What becomes of the specifiers of a compiled module in the published package.
import { describe, expect, it } from 'vitest'
import { exportedNames, filesOf, rewriteSpecifiers, typesNamedIn } from './lib/specifiers.ts'

const files = new Map([
  ...filesOf('packages/core', {
    name: '@beaver/core',
    publishConfig: {
      exports: { '.': { default: './dist/index.js' }, './journal': './dist/journal/index.js' },
    },
  }),
  ['undici', 'vendor/undici.js'] as const,
])
const shown = new Map([['@beaver/service', '@acme/beaver']])
const rewritten = (text: string, file = 'packages/nats/dist/a/b.js') =>
  rewriteSpecifiers(text, file, files, shown)

describe('a specifier', () => {
  it.each([
    ["import { a } from '@beaver/core'", "import { a } from '../../../core/dist/index.js'"],
    ["} from '@beaver/core/journal';", "} from '../../../core/dist/journal/index.js';"],
    ["export * from '@beaver/core'", "export * from '../../../core/dist/index.js'"],
    ["import 'undici'", "import '../../../../vendor/undici.js'"],
    [
      'const { fetch } = await import("undici")',
      'const { fetch } = await import("../../../../vendor/undici.js")',
    ],
    ["import.meta.resolve('@beaver/core')", "import.meta.resolve('../../../core/dist/index.js')"],
    [
      "createRequire(import.meta.url)('undici')",
      "createRequire(import.meta.url)('../../../../vendor/undici.js')",
    ],
  ])('becomes a path: %s', (text, path) => {
    expect(rewritten(text)).toEqual({ text: path, bare: [], unknown: [] })
  })

  it('of the same folder begins with a dot', () => {
    expect(rewritten("import '@beaver/core'", 'packages/core/dist/x.js').text).toBe("import './index.js'")
  })

  it('that is a path, or is in a text, stays', () => {
    const text = "import './x.js'\nconst words = 'import it from @beaver/core'\nconst name = '@beaver/core'"
    expect(rewritten(text)).toEqual({ text, bare: [], unknown: [] })
  })

  it('of another package is told, and so is one that nothing publishes', () => {
    const text = "import { z } from 'zod'\nimport 'node:fs'\nimport '@beaver/secret'"
    expect(rewritten(text)).toEqual({ text, bare: ['zod', 'node:fs'], unknown: ['@beaver/secret'] })
  })

  it('in a comment becomes what a user types', () => {
    const text = " * declare module '@beaver/service' {\n// import '@beaver/core'"
    expect(rewritten(text)).toEqual({
      text: " * declare module '@acme/beaver' {\n// import '@beaver/core'",
      bare: [],
      unknown: [],
    })
  })
})

it('the line that names the source map is left out', () => {
  expect(rewritten('const a = 1\n//# sourceMappingURL=b.js.map').text).toBe('const a = 1')
})

it('types are followed by their paths, with the ending of types', () => {
  const text =
    "import type { A } from './a.js'\nexport * from '../b.ts'\nimport type { z } from 'zod'\nlet c: import('./c.js').C"
  expect(typesNamedIn(text)).toEqual(['./a.d.ts', '../b.d.ts', './c.d.ts'])
})

it('the exported names are those of the values', () => {
  const text = "export { a, b as c } from './a.js'\nexport { Some,\n  More, } from './b.js'\nexport {};"
  expect(exportedNames(text)).toEqual(['a', 'c', 'Some', 'More'])
})
