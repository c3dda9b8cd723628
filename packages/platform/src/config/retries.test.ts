import { failurePolicies } from '@beaver/core/supervision'
import { describe, expect, it, test } from 'vitest'
import type { ConfigFile } from './config-file.ts'
import { loadConfig } from './config.ts'
import { configuredPolicies } from './retries.ts'

const configOf = (set: object) => loadConfig({ set: set as ConfigFile }, {}, '/nowhere')

describe('retries', () => {
  it('without configuration are those of core', () => {
    expect(configuredPolicies(configOf({}))).toEqual(failurePolicies)
  })

  it('change what they name, and the waits of outages and limits', () => {
    const retries = {
      provider_unavailable: { tries_max: 9, pause_ms_max: 60_000 },
      worker_lost: { restarts_max: 7 },
    }
    const policies = configuredPolicies(
      configOf({ retries, provider_outage_ms_max: 5_000, provider_limit_ms_max: 0 }),
    )
    expect(policies).toEqual({
      ...failurePolicies,
      provider_unavailable: {
        ...failurePolicies.provider_unavailable,
        triesMax: 9,
        pauseMsMax: 60_000,
        waitMsMax: 5_000,
      },
      provider_timeout: { ...failurePolicies.provider_timeout, waitMsMax: 5_000 },
      rate_limited: { ...failurePolicies.rate_limited, waitMsMax: 0 },
      worker_lost: { action: 'restart', restartsMax: 7 },
    })
  })

  test.each<[object, string]>([
    [{ provider_refused: { tries_max: 2 } }, 'retries'],
    [{ malformed_output: { tries_max: 0 } }, 'retries.malformed_output.tries_max'],
    [{ malformed_output: { restarts_max: 1 } }, 'retries.malformed_output'],
    [{ worker_lost: { tries_max: 1 } }, 'retries.worker_lost'],
    [
      { provider_timeout: { pause_ms_min: 2_000, pause_ms_max: 1_000 } },
      'retries.provider_timeout.pause_ms_max',
    ],
    [{ provider_timeout: { pause_ms_min: 40_000 } }, 'retries.provider_timeout.pause_ms_min'],
    [{ rate_limited: { pause_ms_min: '1s' } }, 'retries.rate_limited.pause_ms_min'],
  ])('that cannot be are refused with their place: %j', (retries, path) => {
    expect(() => configOf({ retries })).toThrow(
      expect.objectContaining({
        code: 'invalid_configuration',
        problems: [expect.objectContaining({ path })],
      }),
    )
  })
})
