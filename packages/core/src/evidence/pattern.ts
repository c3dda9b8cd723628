// Regular expressions with a time that is bounded by the length of the text. They use RE2, because the engine
// of JavaScript can need exponential time for a short text (docs/decisions/0011). A pattern that RE2 does not
// support, such as a lookahead or a back reference, is a fault and never a verdict.
import { RE2JS } from 're2js'
import { messageOf } from '../errors.ts'

/**
 * Compiles a pattern. `fault` names the part of the pattern that is not supported.
 *
 * @example
 * const pattern = compilePattern('^total: [0-9]+$')
 * if ('test' in pattern) pattern.test('total: 12') // => true
 */
export function compilePattern(
  pattern: string,
): { readonly test: (text: string) => boolean } | { readonly fault: string } {
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern.replace(propertyName, String.raw`\$1{`)))
    return { test: (text) => compiled.test(text) }
  } catch (error) {
    return { fault: messageOf(error).replace(/^error parsing regexp: /, '') }
  }
}

/** RE2 writes `\p{Script=Han}` as `\p{Han}`. */
const propertyName = /\\(p|P)\{(?:Script|sc|Script_Extensions|scx|General_Category|gc)=/g
