/**
 * The response of the benchmark's upstream to every request, 110 bytes of JSON. Every subject must forward this
 * response unchanged.
 */
export const UPSTREAM_RESPONSE =
  '{"id":"crs_01J8Z3","title":"Introduction to linear algebra","lessons":24,"published":true,"price_cents":49900}'
