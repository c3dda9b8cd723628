// Regular expressions whose time is bounded by the length of the text: RE2, not the engine of the language, which can
// take for ever on a short text (docs/decisions/0011).
// P1. A pattern RE2 cannot do, such as a lookahead or a back reference, is a fault and never a verdict.
import { RE2JS } from 're2js'
import { messageOf } from '../errors.ts'

/** `{ fault }` says what the pattern holds that cannot be done. */
export function compilePattern(pattern: string): { readonly test: (text: string) => boolean } | { readonly fault: string } {
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern.replace(propertyName, String.raw`\$1{`)))
    return { test: (text) => compiled.test(text) }
  } catch (error) {
    return { fault: messageOf(error).replace(/^error parsing regexp: /, '') }
  }
}

/** `\p{Script=Han}` is `\p{Han}` in RE2. */
const propertyName = /\\(p|P)\{(?:Script|sc|Script_Extensions|scx|General_Category|gc)=/g
