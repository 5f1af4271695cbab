package server

// Routes returns the patterns of all routes of the HTTP API.
func (s *Server) Routes() []string { return s.http.Routes() }
