import { expect, it } from 'vitest'
import { createdOf, identityOf, withCreated } from './stream-identity.ts'

it('a restored stream has the identity that it had, also when it is restored again', () => {
  const made = {
    created: '2026-01-01T00:00:00Z',
    config: { name: 'J', metadata: { '_nats.ver': '2.15.1', theirs: 'x' } },
  }
  const config = withCreated(made.config, createdOf(made))
  expect(config).toEqual({ name: 'J', metadata: { theirs: 'x', 'beaver-created': made.created } })
  const restored = { created: '2026-02-02T00:00:00Z', config }
  expect(identityOf('J', restored)).toBe(identityOf('J', made))
  expect(withCreated(config, createdOf(restored))).toEqual(config)
})

it('a stream that was made again has another identity', () => {
  const at = (created: string) => identityOf('J', { created, config: {} })
  expect(at('2026-01-01T00:00:00Z')).not.toBe(at('2026-02-02T00:00:00Z'))
})
