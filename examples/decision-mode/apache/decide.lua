-- Asks Scopegate for a decision on a request. Replace the address with decisions.listen of Scopegate.
local DECISIONS = 'http://127.0.0.1:4010/_scopegate'
-- true: Scopegate itself responds to OPTIONS requests of browsers.
local FORWARDS_OPTIONS = false

local http = require 'socket.http'
local ltn12 = require 'ltn12'
http.TIMEOUT = 5

-- Headers of the connection or of the body. The other headers of the client are part of the decision.
local OMITTED = {
  ['connection'] = true, ['content-length'] = true, ['expect'] = true, ['keep-alive'] = true, ['te'] = true,
  ['trailer'] = true, ['transfer-encoding'] = true, ['upgrade'] = true,
}

-- Headers of the decision for the response to a browser, and the variables for httpd.conf.
local CORS = {
  ['access-control-allow-origin'] = 'CORS_ORIGIN', ['access-control-expose-headers'] = 'CORS_EXPOSE', ['vary'] = 'CORS_VARY',
}

-- Removes the headers that Connection names. RFC 9110 section 7.6.1. mod_proxy would remove them after the decision.
local function remove_connection(r)
  local named = {}
  for name in (r.headers_in['Connection'] or ''):lower():gmatch('[^%s,]+') do
    named[name] = true
    if not OMITTED[name] then r.headers_in[name] = nil end
  end
  r.headers_in['Connection'] = named['close'] and 'close' or nil
end

function decide(r)
  remove_connection(r)
  for _, name in ipairs({ 'X-Original-Method', 'X-Original-Uri', 'X-Request-Id' }) do r.headers_in[name] = nil end
  local headers = {}
  for name, value in pairs(r:headers_in_table()) do
    if not OMITTED[name:lower()] then headers[name:lower()] = value end
  end
  local forwards = FORWARDS_OPTIONS and r.method == 'OPTIONS'
  -- Headers of a client must not turn a forwarded request into a request for a decision.
  headers['x-forwarded-method'] = not forwards and r.method or nil
  headers['x-forwarded-uri'] = not forwards and r.unparsed_uri or nil
  headers['x-forwarded-for'] = r.useragent_ip
  local body = {}
  local ok, status, decision = http.request({
    url = DECISIONS, uri = forwards and r.unparsed_uri or nil, method = forwards and 'OPTIONS' or 'GET',
    headers = headers, redirect = false, sink = ltn12.sink.table(body),
  })

  if not ok then
    r:err('No decision from ' .. DECISIONS .. ': ' .. tostring(status))
    return 503
  end
  -- Without this header, a 200 is not a decision.
  if status == 200 and decision['x-scopegate-decision'] == 'allow' and not forwards then
    -- Scopegate lists the headers that its own proxy would not forward.
    for name in (decision['x-scopegate-remove'] or ''):gmatch('[^,]+') do r.headers_in[name] = nil end
    for name, value in pairs(decision) do
      if name:find('^x%-auth%-') or name == 'x-request-id' then r.headers_in[name] = value end
    end
    r.subprocess_env['SCOPEGATE_ALLOWS'] = '1'
    for name, variable in pairs(CORS) do r.subprocess_env[variable] = decision[name] end
    return apache2.OK
  end
  if status < 400 and not forwards then return 503 end
  -- Every other status is a denial, or the response to OPTIONS.
  for name, value in pairs(decision) do
    if not OMITTED[name] and name ~= 'content-type' then r.headers_out[name] = value end
  end
  r.status = status
  r.content_type = decision['content-type'] or 'text/plain'
  r:puts(table.concat(body))
  return apache2.DONE
end
