import { expect, test } from 'vitest'
import { isHostOf, readHostPattern } from './host-pattern.ts'

const fits = (pattern: string, url: string, ports: 'usual' | 'any' = 'usual'): boolean =>
  isHostOf(new URL(url), pattern, ports)

test.each([
  ['a.example', 'https://a.example/x'],
  ['a.example', 'http://a.example/x'],
  ['A.Example', 'https://a.example/'],
  ['a.example', 'https://A.EXAMPLE/'],
  ['a.example.', 'https://a.example/'],
  ['a.example', 'https://a.example./'],
  ['a.example:443', 'https://a.example/'],
  ['a.example:80', 'http://a.example/'],
  ['a.example:8443', 'https://a.example:8443/'],
  ['bücher.example', 'https://bücher.example/'],
  ['BÜCHER.example.', 'https://xn--bcher-kva.example/'],
  ['xn--bcher-kva.example', 'https://bücher.example/'],
  ['*.a.example', 'https://x.y.a.example/'],
  ['*.A.Example.', 'https://x.a.example./'],
  ['*.a.example:8443', 'https://x.a.example:8443/'],
  ['127.0.0.1', 'http://2130706433/'],
  ['::1', 'https://[::1]/'],
  ['[::1]:8080', 'http://[::1]:8080/'],
  ['a.example', ['https://user', 'word@a.example/'].join(':')],
])('%s means %s', (pattern, url) => expect(fits(pattern, url)).toBe(true))

test.each([
  ['a.example', 'https://a.example:8443/'],
  ['a.example:443', 'http://a.example/'],
  ['*.a.example', 'https://x.a.example:8443/'],
  ['*.a.example', 'https://a.example/'],
  ['a.example', 'https://xa.example/'],
  ['a.example', 'https://a.example.evil.example/'],
  ['a.example', 'https://a.example@evil.example/'],
  ['a.example@evil.example', 'https://evil.example/'],
  ['https://a.example', 'https://a.example/'],
  ['', 'https://a.example/'],
  ['*', 'https://a.example/'],
  ['*.', 'https://a.example/'],
  ['a.*', 'https://a.example/'],
  ['a.example/x', 'https://a.example/x'],
])('%s does not mean %s', (pattern, url) => expect(fits(pattern, url)).toBe(false))

test('a host without a port may mean every port', () => {
  expect(fits('a.example', 'https://a.example:8443/', 'any')).toBe(true)
  expect(fits('a.example:1', 'https://a.example:8443/', 'any')).toBe(false)
})

test.each(['', ' ', '%', 'a b', '[', '[:', '::::', '\0', 'a:b:c', '*.*', 'x'.repeat(100_000), '\uD800'])(
  '%j is read without a failure',
  (text) => {
    expect(() => readHostPattern(text)).not.toThrow()
  },
)
