-- Asks Scopegate for a decision on a request. Replace the address with decisions.listen of Scopegate.
local DECISIONS = 'http://127.0.0.1:4010/'

local http = require 'socket.http'
local ltn12 = require 'ltn12'
http.TIMEOUT = 5

-- Headers of the connection or of the body. The other headers of the client are part of the decision.
local OMITTED = {
  ['connection'] = true, ['content-length'] = true, ['expect'] = true, ['host'] = true, ['keep-alive'] = true,
  ['te'] = true, ['trailer'] = true, ['transfer-encoding'] = true, ['upgrade'] = true,
  ['x-original-method'] = true, ['x-original-uri'] = true,
}

-- A client cannot set these headers. Some upstreams read an underscore or a dot as a hyphen.
local function is_reserved(name)
  return name:find('^x[-_.]auth[-_.]') or name:find('^x[-_.]original[-_.]') or name:find('^x[-_.]rewrite[-_.]')
    or name == 'x-http-method' or name == 'x-http-method-override' or name == 'x-method-override'
    or name == 'x-forwarded-for' or name == 'authorization' or name == 'dpop'
end

function decide(r)
  local headers = {}
  for name, value in pairs(r:headers_in_table()) do
    local lower = name:lower()
    if not OMITTED[lower] then headers[lower] = value end
    if is_reserved(lower) then r.headers_in[name] = nil end
  end
  headers['x-forwarded-method'] = r.method
  headers['x-forwarded-uri'] = r.unparsed_uri
  headers['x-forwarded-for'] = r.useragent_ip
  local body = {}
  local ok, status, decision = http.request({
    url = DECISIONS, method = 'GET', headers = headers, redirect = false, sink = ltn12.sink.table(body),
  })

  if not ok then
    r:err('No decision from ' .. DECISIONS .. ': ' .. tostring(status))
    return 503
  end
  if status == 200 then
    for name, value in pairs(decision) do
      if name:find('^x%-auth%-') then r.headers_in[name] = value end
    end
    return apache2.OK
  end
  -- Every other status is a denial.
  for name, value in pairs(decision) do
    if not OMITTED[name] and name ~= 'content-type' then r.headers_out[name] = value end
  end
  r.status = status >= 400 and status or 503
  r.content_type = decision['content-type'] or 'text/plain'
  r:puts(table.concat(body))
  return apache2.DONE
end
