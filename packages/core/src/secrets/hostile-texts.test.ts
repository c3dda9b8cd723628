// Texts that an attacker makes to keep the masker busy.
import { ownMs } from '@beaver/testing'
import { expect, it } from 'vitest'
import { SecretMasker } from './secret-masker.ts'

const masker = new SecretMasker([{ name: 'KEY', value: 'aaaaaaaaaaaaaaaab1' }])
const length = 300_000
const msMax = 3_000

it.each([
  'sk-',
  ' sk-a',
  '://',
  '://a:',
  '://a:b',
  'eyJ',
  ' eyJaaaaaaaaa.eyJaaaaaaaaa.',
  'Bearer ',
  'Bearer a',
  'basic ',
  'PRIVATE KEY',
  'PRIVATE KEY-----',
  'PRIVATE KEY-----\na: a: a: a: ',
  'PRIVATE KEY-----\na: b\n',
  'PRIVATE KEY-----\\\\\\n',
  'PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA',
  'KEY=',
  'KEY=a1',
  'access_key = ',
  'a',
  'aaaaaaaaaaaaaaaa',
  'SUA',
  '\\',
])('%j, many times, takes little time', async (text) => {
  const hostile = text.repeat(Math.ceil(length / text.length))
  let masked = ''
  const work = (): void => {
    masked = masker.mask(hostile)
    masker.decided(hostile.slice(0, 50_000))
  }
  expect(await ownMs(work)).toBeLessThan(msMax)
  expect(masker.mask(masked)).toBe(masked)
})
